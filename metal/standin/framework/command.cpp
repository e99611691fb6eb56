// command.cpp - MTLCommandQueue, MTLCommandBuffer and what encoders share.
#include "metal.h"

namespace standin {

STANDIN_CLASS(CommandQueue, "MTLCommandQueue", class_of<NSObject>(), nullptr)
STANDIN_CLASS(CommandBuffer, "MTLCommandBuffer", class_of<NSObject>(), nullptr)
STANDIN_CLASS(CommandEncoder, "MTLCommandEncoder", class_of<NSObject>(), nullptr)

// --- queue -------------------------------------------------------------------------
static Object *new_queue(Object *self, SEL) {
  auto *q = create<CommandQueue>();
  q->device = static_cast<Device *>(retain(self));
  q->worker = std::thread(run_queue, q);
  return q;
}

CommandQueue::~CommandQueue() {
  {
    std::lock_guard<std::mutex> hold(lock);
    stop = true;
  }
  work.notify_all();
  // The last reference may be a command buffer's, given up by the worker itself.
  if (worker.get_id() == std::this_thread::get_id())
    worker.detach();
  else
    worker.join();
  release(device);
}

static Object *command_buffer(Object *self, SEL) {
  auto *q = static_cast<CommandQueue *>(self);
  static std::atomic<unsigned long> serial{0};
  std::unique_lock<std::mutex> hold(q->lock);
  if (q->unfinished >= kMaxInFlight && q->committed.empty())
    fatal("commandBuffer: %lu command buffers of this queue exist and none is committed: this would wait for ever",
          q->unfinished);
  q->over.wait(hold, [q] { return q->unfinished < kMaxInFlight; });
  ++q->unfinished;
  auto *c = create<CommandBuffer>();
  c->queue = static_cast<CommandQueue *>(retain(q));
  c->serial = ++serial;
  return autorelease(c);
}

// --- command buffer -------------------------------------------------------------------
static CommandBuffer *command(Object *o) { return static_cast<CommandBuffer *>(o); }

CommandBuffer::~CommandBuffer() {
  if (status == kNotEnqueued) {  // dropped, never committed
    std::lock_guard<std::mutex> hold(queue->lock);
    --queue->unfinished;
    queue->over.notify_all();
  }
  for (Object *o : held) release(o);
  release(error);
  release(queue);
}

void CommandBuffer::hold(Object *o) {
  if (o->holder.exchange(serial, std::memory_order_relaxed) == serial) return;  // retained already
  held.push_back(retain(o));
}

unsigned char *CommandBuffer::keep(const void *p, unsigned long n) {
  constexpr unsigned long block = 64 << 10;
  const unsigned long room = (n + 15) / 16 * 16;
  if (bytes.empty() || bytes_used + room > block) {
    bytes.emplace_back(new unsigned char[block]);
    bytes_used = 0;
  }
  unsigned char *to = bytes.back().get() + bytes_used;
  memcpy(to, p, n);
  bytes_used += room;
  return to;
}

void CommandBuffer::must_record(const char *what) const {
  if (status != kNotEnqueued) fatal("%s: command buffer '%s' is committed already", what, label.c_str());
  if (open) fatal("%s: command buffer '%s' has an open encoder", what, label.c_str());
}

static void set_label(Object *self, SEL, Object *label) {
  command(self)->label = expect<NSString>(label, "label")->text;
}

static Object *compute_encoder(Object *self, SEL, unsigned long type) {
  CommandBuffer *c = command(self);
  c->must_record("computeCommandEncoderWithDispatchType:");
  auto *e = create<ComputeEncoder>();
  e->buffer = static_cast<CommandBuffer *>(retain(c));
  e->concurrent = type == kConcurrent;
  e->phase = ++c->phases;
  c->open = e;
  return autorelease(e);
}
static Object *blit_encoder(Object *self, SEL) {
  CommandBuffer *c = command(self);
  c->must_record("blitCommandEncoder");
  auto *e = create<BlitEncoder>();
  e->buffer = static_cast<CommandBuffer *>(retain(c));
  c->open = e;
  return autorelease(e);
}

static void signal_event(Object *self, SEL, Object *event, unsigned long value) {
  CommandBuffer *c = command(self);
  c->must_record("encodeSignalEvent:value:");
  auto *e = expect<SharedEvent>(event, "event");
  c->hold(e);
  c->commands.push_back({Command::kSignal, c->signals.size()});
  c->signals.push_back({e, value});
}
static void wait_event(Object *self, SEL, Object *event, unsigned long value) {
  CommandBuffer *c = command(self);
  c->must_record("encodeWaitForEvent:value:");
  auto *e = expect<SharedEvent>(event, "event");
  c->hold(e);
  c->commands.push_back({Command::kWaitFor, c->waits.size()});
  c->waits.push_back({e, value});
}

static void commit(Object *self, SEL) {
  CommandBuffer *c = command(self);
  c->must_record("commit");
  guard_begin(c);
  retain(c);  // until the work is over
  CommandQueue *q = c->queue;
  std::lock_guard<std::mutex> hold(q->lock);
  c->status = kCommitted;
  q->committed.push_back(c);
  q->work.notify_all();
}

static void wait_completed(Object *self, SEL) {
  CommandBuffer *c = command(self);
  std::unique_lock<std::mutex> hold(c->queue->lock);
  if (c->status == kNotEnqueued)
    fatal("waitUntilCompleted: command buffer '%s' is not committed: this would wait for ever", c->label.c_str());
  c->queue->over.wait(hold, [c] { return c->status >= kCompleted; });
}
static unsigned long status(Object *self, SEL) {
  std::lock_guard<std::mutex> hold(command(self)->queue->lock);
  return command(self)->status;
}
static Object *error(Object *self, SEL) {
  std::lock_guard<std::mutex> hold(command(self)->queue->lock);
  return command(self)->error;
}
static double start_time(Object *self, SEL) {
  std::lock_guard<std::mutex> hold(command(self)->queue->lock);
  return command(self)->start;
}
static double end_time(Object *self, SEL) {
  std::lock_guard<std::mutex> hold(command(self)->queue->lock);
  return command(self)->end;
}

// --- encoders ---------------------------------------------------------------------------
static void end_encoding(Object *self, SEL) {
  auto *e = static_cast<CommandEncoder *>(self);
  if (e->ended) fatal("endEncoding twice in command buffer '%s'", e->buffer->label.c_str());
  e->ended = true;
  e->buffer->open = nullptr;
}

CommandEncoder::~CommandEncoder() {
  if (!ended) fatal("an encoder of command buffer '%s' is released without endEncoding", buffer->label.c_str());
  release(buffer);
}

static Register registered([] {
  Class *queue = class_of<CommandQueue>(), *buffer = class_of<CommandBuffer>();
  method(class_of<Device>(), '-', "newCommandQueue", new_queue);
  method(queue, '-', "commandBuffer", command_buffer);
  method(buffer, '-', "setLabel:", set_label);
  method(buffer, '-', "computeCommandEncoderWithDispatchType:", compute_encoder);
  method(buffer, '-', "blitCommandEncoder", blit_encoder);
  method(buffer, '-', "encodeSignalEvent:value:", signal_event);
  method(buffer, '-', "encodeWaitForEvent:value:", wait_event);
  method(buffer, '-', "commit", commit);
  method(buffer, '-', "waitUntilCompleted", wait_completed);
  method(buffer, '-', "status", status);
  method(buffer, '-', "error", error);
  method(buffer, '-', "GPUStartTime", start_time);
  method(buffer, '-', "GPUEndTime", end_time);
  method(class_of<CommandEncoder>(), '-', "endEncoding", end_encoding);
});

}  // namespace standin
