// device.cpp - MTLDevice, MTLBuffer and MTLSharedEvent.
#include "metal.h"
#include <sys/mman.h>
#include <unistd.h>

namespace standin {

STANDIN_CLASS(Device, "MTLDevice", class_of<NSObject>(), nullptr)
STANDIN_CLASS(Resource, "MTLResource", class_of<NSObject>(), nullptr)
STANDIN_CLASS(Buffer, "MTLBuffer", class_of<Resource>(), nullptr)
STANDIN_CLASS(SharedEvent, "MTLSharedEvent", class_of<NSObject>(), nullptr)

static Device *device(Object *o) { return static_cast<Device *>(o); }

// --- properties -----------------------------------------------------------------
static Object *name(Object *self, SEL) {
  return autorelease(new_string("Stand-in Apple" + std::to_string(device(self)->config.apple_family)));
}
static bool supports_family(Object *self, SEL, long family) {
  const standin_config &c = device(self)->config;
  if (family == kMetal3) return c.metal3;
  if (family == kMetal4) return c.metal4;
  return family >= kApple1 && family <= kApple10 && static_cast<unsigned long>(family - 1000) <= c.apple_family;
}
static bool unified(Object *, SEL) { return true; }
static unsigned long max_buffer(Object *self, SEL) { return device(self)->config.max_buffer; }
static unsigned long working_set(Object *self, SEL) { return device(self)->config.working_set; }
static unsigned long max_threadgroup_memory(Object *self, SEL) { return device(self)->config.max_threadgroup_memory; }
static Size max_threads(Object *self, SEL) {
  const unsigned long n = device(self)->config.max_threads;
  return {n, n, n};
}

// --- buffers ----------------------------------------------------------------------
static unsigned long page() { return static_cast<unsigned long>(sysconf(_SC_PAGESIZE)); }

static Buffer *bare_buffer(Device *d, unsigned long length, unsigned long options) {
  const unsigned long mode = options >> 4 & 15;
  if (mode != kShared && mode != kPrivate)
    fatal("buffer of storage mode %lu: an Apple GPU has shared and private ones", mode);
  auto *b = create<Buffer>();
  b->device = static_cast<Device *>(retain(d));
  b->length = length;
  b->mapped = (length + page() - 1) / page() * page();
  b->mode = static_cast<StorageMode>(mode);
  return b;
}

static void *map_shared(int fd, unsigned long n) {
  void *p = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return p == MAP_FAILED ? nullptr : p;
}

static Object *new_buffer(Object *self, SEL, unsigned long length, unsigned long options) {
  Device *d = device(self);
  if (length == 0) fatal("newBufferWithLength:options: with length 0");
  const unsigned long limit = d->config.memory_limit;
  if (length > d->config.max_buffer || (limit && d->allocated + length > limit)) return nullptr;
  const int fd = memfd_create("metal-standin", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  Buffer *b = bare_buffer(d, length, options);
  if (ftruncate(fd, static_cast<off_t>(b->mapped)) == 0) {
    b->cpu = static_cast<unsigned char *>(map_shared(fd, b->mapped));
    b->gpu = static_cast<unsigned char *>(map_shared(fd, b->mapped));
  }
  close(fd);
  if (!b->cpu || !b->gpu) {
    release(b);
    return nullptr;
  }
  d->allocated += length;
  guard_add(b);
  return b;
}

static Object *wrap_buffer(Object *self, SEL, const void *p, unsigned long length, unsigned long options,
                           const void *deallocator) {
  const auto address = reinterpret_cast<unsigned long>(p);
  if (!p || address % page() || length == 0 || length % page())
    fatal("newBufferWithBytesNoCopy: %lu bytes at %p: not whole pages of %lu bytes", length, p, page());
  if (deallocator) fatal("newBufferWithBytesNoCopy: the deallocator is not null");
  if ((options >> 4 & 15) != kShared)
    fatal("newBufferWithBytesNoCopy: storage mode %lu is not shared", options >> 4 & 15);
  if (length > device(self)->config.max_buffer) return nullptr;
  Buffer *b = bare_buffer(device(self), length, options);
  b->wrapped = true;
  b->cpu = b->gpu = static_cast<unsigned char *>(const_cast<void *>(p));
  guard_add(b);
  return b;
}

Buffer::~Buffer() {
  if (cpu) guard_remove(this);
  if (!wrapped) {
    if (cpu) munmap(cpu, mapped);
    if (gpu) munmap(gpu, mapped);
    if (cpu) device->allocated -= length;
  }
  release(device);
}

static void *contents(Object *self, SEL) {
  auto *b = static_cast<Buffer *>(self);
  if (b->mode == kPrivate) fatal("contents of the private buffer '%s'", b->label.c_str());
  guard_check_contents(b);
  return b->cpu;
}
static void set_label(Object *self, SEL, Object *label) {
  static_cast<Resource *>(self)->label = expect<NSString>(label, "label")->text;
}

// --- shared events ------------------------------------------------------------------
static Object *new_event(Object *, SEL) { return create<SharedEvent>(); }
static unsigned long event_value(Object *self, SEL) {
  auto *e = static_cast<SharedEvent *>(self);
  std::lock_guard<std::mutex> hold(e->lock);
  return e->value;
}
static void event_set(Object *self, SEL, unsigned long value) {
  auto *e = static_cast<SharedEvent *>(self);
  std::lock_guard<std::mutex> hold(e->lock);
  if (value < e->value) fatal("setSignaledValue: %lu after %lu", value, e->value);
  e->value = value;
  e->changed.notify_all();
}

static Register registered([] {
  Class *d = class_of<Device>(), *b = class_of<Buffer>(), *e = class_of<SharedEvent>();
  method(d, '-', "name", name);
  method(d, '-', "supportsFamily:", supports_family);
  method(d, '-', "hasUnifiedMemory", unified);
  method(d, '-', "maxBufferLength", max_buffer);
  method(d, '-', "recommendedMaxWorkingSetSize", working_set);
  method(d, '-', "maxThreadgroupMemoryLength", max_threadgroup_memory);
  method(d, '-', "maxThreadsPerThreadgroup", max_threads);
  method(d, '-', "newBufferWithLength:options:", new_buffer);
  method(d, '-', "newBufferWithBytesNoCopy:length:options:deallocator:", wrap_buffer);
  method(d, '-', "newSharedEvent", new_event);
  method(class_of<Resource>(), '-', "setLabel:", set_label);
  method(b, '-', "contents", contents);
  method(e, '-', "signaledValue", event_value);
  method(e, '-', "setSignaledValue:", event_set);
});

}  // namespace standin

extern "C" __attribute__((visibility("default"))) standin::Object *MTLCreateSystemDefaultDevice() {
  using namespace standin;
  if (config_of_next_device.apple_family == 0) return nullptr;  // a Mac without a GPU of its own
  auto *d = create<Device>();
  d->config = config_of_next_device;
  return d;
}
