// metal.h - the objects behind Metal's protocols.
#pragma once
#include "msl_host_rt.h"
#include "control.h"
#include "enums.h"
#include "foundation.h"
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace standin {

struct Device : NSObject {
  standin_config config;
  std::atomic<unsigned long> allocated{0};
};

struct Resource : NSObject {
  std::string label;
};

// Memory that the GPU sees at gpu and the CPU at cpu. Memory of our own is mapped twice, so that the CPU's view can be
// closed while the emulator works; wrapped memory has one view.
struct Buffer : Resource {
  Device *device = nullptr;
  unsigned long length = 0, mapped = 0;
  StorageMode mode = kShared;
  unsigned char *cpu = nullptr, *gpu = nullptr;
  bool wrapped = false, cpu_writable = true;
  // Guarded by the lock in guard.cpp: queued command buffers that read and write it, the protection in force, and the
  // label of the last of them.
  unsigned readers = 0, writers = 0;
  int protection = 0;
  std::string user;
  ~Buffer();
};

struct CompileOptions : NSObject {
  unsigned long version = 0;
  bool fast_math = true;
  NSDictionary *macros = nullptr;
  ~CompileOptions() { release(macros); }
};

struct Library : NSObject {
  Device *device = nullptr;
  std::string path;
  bool checked = false;
  const msl_kernel *kernels = nullptr;
  const msl_constant *constants = nullptr;
  ~Library() { release(device); }
};

struct ConstantValue {
  unsigned long type, bits;
};
struct FunctionConstantValues : NSObject {
  std::map<unsigned long, ConstantValue> values;
};

struct Function : NSObject {
  Library *library = nullptr;
  const msl_kernel *kernel = nullptr;
  std::map<unsigned long, ConstantValue> constants;
  ~Function() { release(library); }
};

struct Pipeline : NSObject {
  Function *function = nullptr;
  unsigned long max_threads = 0;
  const msl_kernel *kernel() const { return function->kernel; }
  ~Pipeline() { release(function); }
};

struct SharedEvent : NSObject {
  std::mutex lock;
  std::condition_variable changed;
  unsigned long value = 0;
};

// --- recorded work --------------------------------------------------------------
struct Binding {
  Buffer *buffer = nullptr;  // or, when null,
  unsigned char *bytes = nullptr;
  unsigned long offset = 0, length = 0;
  unsigned char *address() const { return buffer ? buffer->gpu + offset : bytes; }
};

// What one dispatch gives one argument of its kernel: memory, or a length of threadgroup memory.
struct Given {
  const msl_argument *argument;
  Binding binding;
  unsigned threadgroup;
};

struct Dispatch {
  Pipeline *pipeline;
  Size grid, threads;
  unsigned long first, last;  // its Givens in the command buffer
  unsigned long phase;        // concurrent dispatches of one phase, which no barrier separates, overlap
  bool concurrent;
};
struct Copy {
  Buffer *to;
  unsigned long to_offset;
  Buffer *from;
  unsigned long from_offset, length;
};
struct Fill {
  Buffer *to;
  unsigned long offset, length;
  unsigned char value;
};
struct Signal {
  SharedEvent *event;
  unsigned long value;
};
struct WaitFor {
  SharedEvent *event;
  unsigned long value;
};

struct Command {
  enum Kind { kDispatch, kCopy, kFill, kSignal, kWaitFor } kind;
  unsigned long index;  // in the list of its kind
};

struct CommandQueue;
struct CommandEncoder;

struct CommandBuffer : NSObject {
  CommandQueue *queue = nullptr;
  std::string label;
  unsigned long serial = 0;
  std::vector<Command> commands;
  std::vector<Dispatch> dispatches;
  std::vector<Given> given;
  std::vector<Copy> copies;
  std::vector<Fill> fills;
  std::vector<Signal> signals;
  std::vector<WaitFor> waits;
  std::vector<std::unique_ptr<unsigned char[]>> bytes;  // copies of setBytes
  unsigned long bytes_used = 0;
  std::vector<Object *> held;  // retained until the work is over
  CommandEncoder *open = nullptr;
  unsigned long phases = 0;  // begun by encoders and barriers
  // Guarded by queue->lock.
  unsigned long status = kNotEnqueued;
  NSError *error = nullptr;
  double start = 0, end = 0;
  ~CommandBuffer();

  void hold(Object *o);
  unsigned char *keep(const void *p, unsigned long n);
  void must_record(const char *what) const;
};

struct CommandQueue : NSObject {
  Device *device = nullptr;
  std::mutex lock;
  std::condition_variable work;  // for the worker: something is committed, or stop
  std::condition_variable over;  // for callers: a command buffer is over
  std::deque<CommandBuffer *> committed;
  unsigned long unfinished = 0;  // command buffers made and not over
  bool stop = false;
  std::thread worker;
  ~CommandQueue();
};

struct CommandEncoder : NSObject {
  CommandBuffer *buffer = nullptr;
  bool ended = false;
  ~CommandEncoder();
};

struct ComputeEncoder : CommandEncoder {
  bool concurrent = false;
  unsigned long phase = 0;
  // The settings for the next dispatch.
  Pipeline *pipeline = nullptr;
  Binding bindings[kMaxBindings];
  unsigned threadgroup[kMaxBindings] = {};
};

struct BlitEncoder : CommandEncoder {};

// guard.cpp: the CPU's view of buffers that queued work uses.
void guard_add(Buffer *);
void guard_remove(Buffer *);
void guard_begin(const CommandBuffer *);
void guard_end(const CommandBuffer *);
void guard_check_contents(Buffer *);

// execute.cpp
void run_queue(CommandQueue *);

}  // namespace standin
