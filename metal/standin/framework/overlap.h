// overlap.h - finds dispatches of a concurrent encoder that depend on each other without a barrier between.
#pragma once
#include "metal.h"
#include <unordered_map>

namespace standin {

// What the dispatches of one phase touched so far, by the byte. Needs the checked build, which tells what each touches.
class Overlap {
 public:
  // Begins the notes of one more concurrent dispatch; a new phase orders all that went before.
  void begin(const CommandBuffer *c, const Dispatch *d);
  // What the dispatch touched in one block of memory: ends the process when an earlier one of the phase is in conflict.
  void touch(const msl_touched *t);

 private:
  struct Block {
    msl_touched sum;
    const Dispatch *reader, *writer;  // the last of each
  };
  const CommandBuffer *command_ = nullptr;
  const Dispatch *now_ = nullptr;
  std::unordered_map<unsigned long, Block> blocks_;
  [[noreturn]] void report(unsigned long address, const char *does, const Dispatch *other, const char *did) const;
};

}  // namespace standin
