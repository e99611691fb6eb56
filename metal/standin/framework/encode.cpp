// encode.cpp - MTLComputeCommandEncoder and MTLBlitCommandEncoder: every call is checked when it is made.
#include "metal.h"

namespace standin {

STANDIN_CLASS(ComputeEncoder, "MTLComputeCommandEncoder", class_of<CommandEncoder>(), nullptr)
STANDIN_CLASS(BlitEncoder, "MTLBlitCommandEncoder", class_of<CommandEncoder>(), nullptr)

static const char *label(const CommandEncoder *e) { return e->buffer->label.c_str(); }

static ComputeEncoder *compute(Object *self, SEL sel) {
  auto *e = static_cast<ComputeEncoder *>(self);
  if (e->ended) fatal("%s: the encoder of command buffer '%s' has ended", sel->name, label(e));
  return e;
}

// --- settings -----------------------------------------------------------------------
static void set_pipeline(Object *self, SEL sel, Object *pipeline) {
  ComputeEncoder *e = compute(self, sel);
  e->pipeline = expect<Pipeline>(pipeline, "pipeline state");
  e->buffer->hold(pipeline);
}

static void bind(ComputeEncoder *e, Object *buffer, unsigned long offset, unsigned long index) {
  if (index >= kMaxBindings) fatal("setBuffer at index %lu in command buffer '%s'", index, label(e));
  auto *b = expect<Buffer>(buffer, "buffer");
  if (offset >= b->length)
    fatal("binding beyond a buffer: offset %lu of buffer '%s' (%lu bytes) at index %lu in command buffer '%s'", offset,
          b->label.c_str(), b->length, index, label(e));
  e->bindings[index] = {b, nullptr, offset, b->length - offset};
  e->buffer->hold(b);
}
static void set_buffer(Object *self, SEL sel, Object *buffer, unsigned long offset, unsigned long index) {
  bind(compute(self, sel), buffer, offset, index);
}
static void set_buffers(Object *self, SEL sel, Object *const *buffers, const unsigned long *offsets, Range range) {
  ComputeEncoder *e = compute(self, sel);
  for (unsigned long i = 0; i < range.length; ++i) bind(e, buffers[i], offsets[i], range.location + i);
}
static void set_bytes(Object *self, SEL sel, const void *bytes, unsigned long length, unsigned long index) {
  ComputeEncoder *e = compute(self, sel);
  if (index >= kMaxBindings) fatal("setBytes at index %lu in command buffer '%s'", index, label(e));
  if (length == 0 || length > kMaxBytes)
    fatal("setBytes: %lu bytes at index %lu in command buffer '%s': 1 to %lu allowed", length, index, label(e),
          kMaxBytes);
  e->bindings[index] = {nullptr, e->buffer->keep(bytes, length), 0, length};
}
static void set_threadgroup_memory(Object *self, SEL sel, unsigned long length, unsigned long index) {
  ComputeEncoder *e = compute(self, sel);
  if (index >= kMaxBindings || length % 16)
    fatal("setThreadgroupMemoryLength: %lu at index %lu in command buffer '%s': not a multiple of 16", length, index,
          label(e));
  e->threadgroup[index] = static_cast<unsigned>(length);
}

// --- dispatch -------------------------------------------------------------------------
static unsigned long count(Size s) { return s.width * s.height * s.depth; }

// Notes what the kernel's arguments are given, and returns their threadgroup memory.
static unsigned long give_arguments(const ComputeEncoder *e, const msl_kernel *k) {
  unsigned long memory = 0;
  for (const msl_argument *a = k->arguments; a->name; ++a) {
    const Binding &b = e->bindings[a->index];
    const unsigned length = e->threadgroup[a->index];
    e->buffer->given.push_back({a, a->threadgroup ? Binding{} : b, a->threadgroup ? length : 0});
    if (a->threadgroup) {
      if (length == 0) fatal("kernel %s: no threadgroup memory for '%s' (%d)", k->name, a->name, a->index);
      memory += length;
    } else if (!b.address()) {
      fatal("kernel %s: nothing is bound to '%s', buffer(%d)", k->name, a->name, a->index);
    } else if (a->writable && !b.buffer) {
      fatal("kernel %s: '%s', buffer(%d), is written but bound by setBytes", k->name, a->name, a->index);
    } else if (a->writable && !b.buffer->cpu_writable) {
      fatal("kernel %s: '%s', buffer(%d), is written but is read-only memory, '%s'", k->name, a->name, a->index,
            b.buffer->label.c_str());
    }
  }
  return memory;
}

static void check_sizes(const ComputeEncoder *e, Size grid, Size threads, unsigned long memory) {
  const msl_kernel *k = e->pipeline->kernel();
  if (count(grid) == 0)
    fatal("kernel %s: a grid of %lu x %lu x %lu threads", k->name, grid.width, grid.height, grid.depth);
  if (count(threads) == 0 || count(threads) > e->pipeline->max_threads)
    fatal("kernel %s: %lu x %lu x %lu threads per threadgroup: 1 to %lu allowed", k->name, threads.width,
          threads.height, threads.depth, e->pipeline->max_threads);
  const unsigned long limit = e->buffer->queue->device->config.max_threadgroup_memory;
  if (memory > limit) fatal("kernel %s: %lu bytes of threadgroup memory are more than %lu", k->name, memory, limit);
}

static void dispatch_threads(Object *self, SEL sel, Size grid, Size threads) {
  ComputeEncoder *e = compute(self, sel);
  CommandBuffer *c = e->buffer;
  if (!e->pipeline) fatal("dispatchThreads without a pipeline in command buffer '%s'", label(e));
  const msl_kernel *k = e->pipeline->kernel();
  const unsigned long first = c->given.size();
  check_sizes(e, grid, threads, k->threadgroup_bytes + give_arguments(e, k));
  c->commands.push_back({Command::kDispatch, c->dispatches.size()});
  c->dispatches.push_back({e->pipeline, grid, threads, first, c->given.size(), e->phase, e->concurrent});
}

static void barrier(Object *self, SEL sel, unsigned long scope) {
  ComputeEncoder *e = compute(self, sel);
  if (!(scope & kScopeBuffers)) fatal("memoryBarrierWithScope: %lu does not name buffers", scope);
  e->phase = ++e->buffer->phases;
}

// --- blits ------------------------------------------------------------------------------
static void check_range(const BlitEncoder *e, const char *what, const Buffer *b, unsigned long offset,
                        unsigned long length) {
  if (length == 0 || offset > b->length || length > b->length - offset)
    fatal("%s: bytes [%lu, %lu) of buffer '%s' (%lu bytes) in command buffer '%s'", what, offset, offset + length,
          b->label.c_str(), b->length, label(e));
  if (offset % 4 || length % 4) fatal("%s: offset %lu or length %lu is not a multiple of 4", what, offset, length);
}
static BlitEncoder *blit(Object *self, SEL sel) {
  auto *e = static_cast<BlitEncoder *>(self);
  if (e->ended) fatal("%s: the encoder of command buffer '%s' has ended", sel->name, label(e));
  return e;
}
static void copy(Object *self, SEL sel, Object *from, unsigned long from_offset, Object *to, unsigned long to_offset,
                 unsigned long length) {
  BlitEncoder *e = blit(self, sel);
  auto *source = expect<Buffer>(from, "source"), *target = expect<Buffer>(to, "destination");
  check_range(e, "copyFromBuffer: source", source, from_offset, length);
  check_range(e, "copyFromBuffer: destination", target, to_offset, length);
  if (source == target && from_offset < to_offset + length && to_offset < from_offset + length)
    fatal("copyFromBuffer: source and destination overlap in buffer '%s'", source->label.c_str());
  e->buffer->hold(source);
  e->buffer->hold(target);
  e->buffer->commands.push_back({Command::kCopy, e->buffer->copies.size()});
  e->buffer->copies.push_back({target, to_offset, source, from_offset, length});
}
static void fill(Object *self, SEL sel, Object *to, Range range, unsigned char value) {
  BlitEncoder *e = blit(self, sel);
  auto *b = expect<Buffer>(to, "buffer");
  check_range(e, "fillBuffer", b, range.location, range.length);
  e->buffer->hold(b);
  e->buffer->commands.push_back({Command::kFill, e->buffer->fills.size()});
  e->buffer->fills.push_back({b, range.location, range.length, value});
}

static Register registered([] {
  Class *c = class_of<ComputeEncoder>(), *b = class_of<BlitEncoder>();
  method(c, '-', "setComputePipelineState:", set_pipeline);
  method(c, '-', "setBuffer:offset:atIndex:", set_buffer);
  method(c, '-', "setBuffers:offsets:withRange:", set_buffers);
  method(c, '-', "setBytes:length:atIndex:", set_bytes);
  method(c, '-', "setThreadgroupMemoryLength:atIndex:", set_threadgroup_memory);
  method(c, '-', "dispatchThreads:threadsPerThreadgroup:", dispatch_threads);
  method(c, '-', "memoryBarrierWithScope:", barrier);
  method(b, '-', "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy);
  method(b, '-', "fillBuffer:range:value:", fill);
});

}  // namespace standin
