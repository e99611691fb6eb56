// overlap.cpp - see overlap.h.
#include "overlap.h"

namespace standin {

void Overlap::begin(const CommandBuffer *c, const Dispatch *d) {
  if (now_ && d->phase != now_->phase) blocks_.clear();
  command_ = c;
  now_ = d;
}

// A dispatch's binding that holds address, named for the report.
static std::string place(const CommandBuffer *c, const Dispatch *d, unsigned long address) {
  for (unsigned long i = d->first; i < d->last; ++i) {
    const Given &g = c->given[i];
    const Buffer *b = g.binding.buffer;
    const auto low = reinterpret_cast<unsigned long>(b ? b->gpu : nullptr);
    if (b && address >= low && address < low + b->length)
      return "byte " + std::to_string(address - low) + " of buffer '" + b->label + "' (argument '" + g.argument->name +
             "')";
  }
  return "bound bytes";
}

void Overlap::report(unsigned long address, const char *does, const Dispatch *other, const char *did) const {
  fatal(
      "missing barrier in command buffer '%s': kernel %s %s %s, which kernel %s %s before in the same concurrent "
      "encoder",
      command_->label.c_str(), now_->pipeline->kernel()->name, does, place(command_, now_, address).c_str(),
      other->pipeline->kernel()->name, did);
}

void Overlap::touch(const msl_touched *t) {
  Block &b = blocks_[t->address];
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned long after_write = (t->read[i] | t->written[i]) & b.sum.written[i];
    const unsigned long after_read = t->written[i] & b.sum.read[i];
    const unsigned long conflict = after_write ? after_write : after_read;
    if (!conflict) continue;
    const unsigned long address = t->address + i * 64 + static_cast<unsigned long>(__builtin_ctzl(conflict));
    if (after_write) report(address, t->written[i] & conflict ? "writes" : "reads", b.writer, "wrote");
    report(address, "writes", b.reader, "read");
  }
  bool reads = false, writes = false;
  for (unsigned i = 0; i < 64; ++i) {
    b.sum.read[i] |= t->read[i];
    b.sum.written[i] |= t->written[i];
    reads |= t->read[i] != 0;
    writes |= t->written[i] != 0;
  }
  if (reads) b.reader = now_;
  if (writes) b.writer = now_;
}

}  // namespace standin
