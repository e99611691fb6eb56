// control.h - what tests set and ask beside Metal's own interface. Package standin mirrors these structs.
#pragma once
#include <string>

extern "C" {
// A request to compile MSL; the callback fills path, or error and returns nonzero.
struct standin_build {
  const char *source;
  unsigned long version;  // major << 16 | minor
  const char *macros;     // "name=value" lines
  unsigned long checked;
  char path[1024];
  char error[16384];
};

struct standin_config {
  unsigned long apple_family;  // 7 for M1
  unsigned long metal3, metal4;
  unsigned long max_threadgroup_memory;
  unsigned long max_threads;  // of every pipeline
  unsigned long max_buffer, working_set;
  unsigned long memory_limit;  // bytes of buffers beyond which allocations fail; 0: none
  unsigned long checked;       // kernels are built with every access checked
  unsigned long order, seed;   // of lanes, threadgroups and overlapping dispatches; MSL_ORDER_*
  unsigned long strict;        // simd functions in divergent control flow are errors
  unsigned long workers;       // OS threads of one dispatch
  unsigned long protect;       // CPU accesses to what queued work uses are reported
  unsigned long (*build)(standin_build *);
  // Names the source line of a place in a kernel library.
  unsigned long (*line)(const char *path, unsigned long place, char *text, unsigned long length);
};

struct standin_fault {
  char label[128];             // command buffers whose label contains this
  unsigned long skip;          // so many of them pass first
  unsigned long count;         // so many are hit; 0: all that follow
  unsigned long delay_micros;  // before it runs
  unsigned long error;         // MTLCommandBufferError that it ends with, unrun; 0: none
};
}

namespace standin {
extern standin_config config_of_next_device;
// What is to happen to a command buffer with this label: a delay that has been slept, an error code or 0.
unsigned long meet_fault(const std::string &label);
}  // namespace standin
