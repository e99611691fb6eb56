// control.cpp - what tests set: the next device's configuration, and faults.
#include "control.h"
#include <mutex>
#include <thread>
#include <vector>

namespace standin {

standin_config config_of_next_device;

static std::mutex lock;
static std::vector<standin_fault> &faults() {
  static auto *f = new std::vector<standin_fault>;
  return *f;
}

unsigned long meet_fault(const std::string &label) {
  unsigned long delay = 0, error = 0;
  {
    std::lock_guard<std::mutex> hold(lock);
    for (size_t i = 0; i < faults().size(); ++i) {
      standin_fault &f = faults()[i];
      if (label.find(f.label) == std::string::npos) continue;
      if (f.skip) {
        --f.skip;
        continue;
      }
      delay = f.delay_micros;
      error = f.error;
      if (f.count && --f.count == 0) faults().erase(faults().begin() + long(i));
      break;
    }
  }
  if (delay) std::this_thread::sleep_for(std::chrono::microseconds(delay));
  return error;
}

}  // namespace standin

extern "C" {
__attribute__((visibility("default"))) void standin_configure(const standin_config *c) {
  standin::config_of_next_device = *c;
}
__attribute__((visibility("default"))) void standin_add_fault(const standin_fault *f) {
  std::lock_guard<std::mutex> hold(standin::lock);
  standin::faults().push_back(*f);
}
__attribute__((visibility("default"))) void standin_clear_faults() {
  std::lock_guard<std::mutex> hold(standin::lock);
  standin::faults().clear();
}
__attribute__((visibility("default"))) unsigned long standin_abi() {
  return sizeof(standin_config) + sizeof(standin_fault) + sizeof(standin_build);
}
}
