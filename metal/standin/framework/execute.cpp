// execute.cpp - a queue's worker: runs committed command buffers one after the other on the emulator.
#include "overlap.h"
#include <algorithm>
#include <ctime>

namespace standin {

constexpr const char *kCommandDomain = "MTLCommandBufferErrorDomain";

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

static void set(unsigned to[3], Size from) {
  to[0] = unsigned(from.width), to[1] = unsigned(from.height), to[2] = unsigned(from.depth);
}

static void fill_in(msl_dispatch &m, const CommandBuffer *command, const Dispatch &d) {
  const standin_config &config = command->queue->device->config;
  set(m.grid, d.grid);
  set(m.threads, d.threads);
  for (unsigned long i = d.first; i < d.last; ++i) {
    const Given &g = command->given[i];
    if (g.argument->threadgroup) {
      m.threadgroup_length[g.argument->index] = g.threadgroup;
      continue;
    }
    m.buffer[g.argument->index] = g.binding.address();
    m.length[g.argument->index] = g.binding.length;
  }
  for (auto &c : d.pipeline->function->constants) {
    if (c.first >= MSL_MAX_CONSTANTS) fatal("function constant %lu: the emulator has %d", c.first, MSL_MAX_CONSTANTS);
    m.constant[c.first] = c.second.bits;
    m.constant_set[c.first] = 1;
  }
  m.order = unsigned(config.order);
  m.seed = config.seed;
  m.flags = config.strict ? MSL_FLAG_STRICT_SIMD : 0;
  m.workers = config.workers ? unsigned(config.workers) : std::thread::hardware_concurrency();
}

// --- errors -------------------------------------------------------------------------
static const char *error_text(unsigned long code) {
  switch (code) {
    case kErrorTimeout:
      return "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)";
    case kErrorPageFault:
      return "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)";
    case kErrorOutOfMemory:
      return "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)";
    case kErrorDeviceRemoved:
      return "The device was removed";
  }
  return "Internal Error (0000000e:Internal Error)";
}
static NSError *injected(unsigned long code) {
  return new_error(kCommandDomain, long(code), [code] { return std::string(error_text(code)); });
}

// What the emulator found wrong in a kernel. The source line is looked up when somebody reads the text.
static NSError *kernel_error(const Dispatch &d, const msl_dispatch &m, const standin_config &config) {
  const std::string text = m.error, path = d.pipeline->function->library->path;
  const bool outside =
      text.find("out of bounds") != std::string::npos || text.find("past the end") != std::string::npos;
  const unsigned long place = m.pc;
  auto *line = config.line;
  return new_error(kCommandDomain, outside ? kErrorPageFault : kErrorInternal, [=] {
    char at[256] = "";
    if (place && line && line(path.c_str(), place, at, sizeof at) == 0 && at[0]) return text + " at " + at;
    return text;
  });
}

// --- running --------------------------------------------------------------------------
static NSError *run_dispatch(const CommandBuffer *c, const Dispatch &d, Overlap &overlap) {
  const standin_config &config = c->queue->device->config;
  auto m = std::make_unique<msl_dispatch>();
  fill_in(*m, c, d);
  if (d.concurrent && config.checked) {
    overlap.begin(c, &d);
    m->touched = [](void *o, const msl_touched *t) { static_cast<Overlap *>(o)->touch(t); };
    m->touched_context = &overlap;
  }
  d.pipeline->kernel()->entry(m.get());
  return m->error[0] ? kernel_error(d, *m, config) : nullptr;
}

// Dispatches that overlap may run in any order: under another order than forward they run backwards.
static void reorder(CommandBuffer *c) {
  if (c->queue->device->config.order == MSL_ORDER_FORWARD) return;
  auto overlaps = [c](size_t i, size_t j) {
    const Command &a = c->commands[i], &b = c->commands[j];
    if (a.kind != Command::kDispatch || b.kind != Command::kDispatch) return false;
    const Dispatch &x = c->dispatches[a.index], &y = c->dispatches[b.index];
    return x.concurrent && y.concurrent && x.phase == y.phase;
  };
  for (size_t i = 0; i < c->commands.size();) {
    size_t j = i + 1;
    while (j < c->commands.size() && overlaps(i, j)) ++j;
    std::reverse(c->commands.begin() + long(i), c->commands.begin() + long(j));
    i = j;
  }
}

static void wait_for(const WaitFor &w) {
  std::unique_lock<std::mutex> hold(w.event->lock);
  w.event->changed.wait(hold, [&] { return w.event->value >= w.value; });
}
static void signal(const Signal &s) {
  std::lock_guard<std::mutex> hold(s.event->lock);
  if (s.value < s.event->value) fatal("a GPU signal sets an event to %lu after %lu", s.value, s.event->value);
  s.event->value = s.value;
  s.event->changed.notify_all();
}

static void copy(const Copy &k) { memcpy(k.to->gpu + k.to_offset, k.from->gpu + k.from_offset, k.length); }
static void fill(const Fill &k) { memset(k.to->gpu + k.offset, k.value, k.length); }

static NSError *run_commands(CommandBuffer *c) {
  Overlap overlap;
  reorder(c);
  for (const Command &k : c->commands) {
    NSError *failed = nullptr;
    switch (k.kind) {
      case Command::kDispatch:
        failed = run_dispatch(c, c->dispatches[k.index], overlap);
        break;
      case Command::kCopy:
        copy(c->copies[k.index]);
        break;
      case Command::kFill:
        fill(c->fills[k.index]);
        break;
      case Command::kSignal:
        signal(c->signals[k.index]);
        break;
      case Command::kWaitFor:
        wait_for(c->waits[k.index]);
        break;
    }
    if (failed) return failed;
  }
  return nullptr;
}

static void run(CommandBuffer *c) {
  CommandQueue *q = c->queue;
  const unsigned long fault = meet_fault(c->label);
  const double start = now();
  NSError *error = fault ? injected(fault) : run_commands(c);
  guard_end(c);
  for (Object *o : c->held) release(o);
  c->held.clear();
  std::lock_guard<std::mutex> hold(q->lock);
  c->start = start;
  c->end = now();
  c->error = error;
  c->status = error ? kError : kCompleted;
  --q->unfinished;
  q->over.notify_all();
}

void run_queue(CommandQueue *q) {
  for (;;) {
    CommandBuffer *c;
    {
      std::unique_lock<std::mutex> hold(q->lock);
      q->work.wait(hold, [q] { return q->stop || !q->committed.empty(); });
      if (q->committed.empty()) return;
      c = q->committed.front();
    }
    run(c);
    {
      std::lock_guard<std::mutex> hold(q->lock);
      q->committed.pop_front();
    }
    release(c);
    if (q->isa != class_of<CommandQueue>()) return;  // that was the last reference to the queue
  }
}

}  // namespace standin
