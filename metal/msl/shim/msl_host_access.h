// msl_host_access.h - the checked build: every memory access of a kernel comes through here. Part of
// msl_host_runtime.cpp, inside its namespace, after Worker and msl_fail.
#pragma once

struct Range {
  unsigned char *base;
  unsigned long length;
  int index;
  Cell *shadow;
};
struct Checks {
  Range ranges[MSL_MAX_BUFFERS];
  int count;
  unsigned char *image_low, *image_high;
  bool note;                                               // somebody wants to know what is touched:
  std::unordered_map<unsigned long, msl_touched> touched;  // by address / 4096
  msl_touched *last;
};
static Checks checks;

// Notes for the caller that size bytes at p are read or written.
static void note_touched(const unsigned char *p, unsigned size, bool write) {
  for (unsigned long a = reinterpret_cast<unsigned long>(p), end = a + size; a < end; ++a) {
    if (!checks.last || checks.last->address != (a & ~4095ul)) {
      checks.last = &checks.touched[a >> 12];
      checks.last->address = a & ~4095ul;
    }
    const unsigned long byte = a & 4095;
    (write ? checks.last->written : checks.last->read)[byte / 64] |= 1ul << byte % 64;
  }
}

static int find_image(dl_phdr_info *info, size_t, void *) {
  const uintptr_t here = reinterpret_cast<uintptr_t>(&checks);
  uintptr_t low = ~uintptr_t(0), high = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &p = info->dlpi_phdr[i];
    if (p.p_type != PT_LOAD) continue;
    const uintptr_t a = info->dlpi_addr + p.p_vaddr, b = a + p.p_memsz;
    if (a < low) low = a;
    if (b > high) high = b;
  }
  if (here < low || here >= high) return 0;
  checks.image_low = reinterpret_cast<unsigned char *>(low);
  checks.image_high = reinterpret_cast<unsigned char *>(high);
  return 1;
}
static void begin_checks(const msl_dispatch *d) {
  checks.count = 0;
  checks.note = d->touched != nullptr;
  checks.touched.clear();
  checks.last = nullptr;
  if (!checks.image_low) dl_iterate_phdr(find_image, nullptr);
  for (int i = 0; i < MSL_MAX_BUFFERS; ++i)
    if (d->buffer[i] && d->length[i]) {
      void *s = mmap(nullptr, d->length[i] * sizeof(Cell), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      checks.ranges[checks.count++] = {static_cast<unsigned char *>(d->buffer[i]), d->length[i], i,
                                       static_cast<Cell *>(s)};
    }
}
static void tell_touched(const msl_dispatch *d) {
  if (!checks.note) return;
  for (const auto &t : checks.touched) d->touched(d->touched_context, &t.second);
}
static void end_checks() {
  for (int i = 0; i < checks.count; ++i) munmap(checks.ranges[i].shadow, checks.ranges[i].length * sizeof(Cell));
}

// Are a past access and a present one by lane l ordered?  space: 0 device, 1 threadgroup memory.
static inline bool ordered(const Access &a, const Worker *w, const Lane *l, int space) {
  if (a.group == 0) return true;
  if (a.group != w->group_serial || a.many == 3) return false;  // another threadgroup of the same dispatch
  if (a.outer != w->group.epoch[space]) return true;            // a threadgroup barrier lies between
  if (a.many == 2 || a.thread / MSL_SIMD_WIDTH != l->simd->index) return false;
  if (a.inner != l->simd->epoch[space]) return true;  // a simdgroup_barrier lies between
  return a.many == 0 && a.thread == l->index;         // program order
}
static void touch(Cell *cell, unsigned size, bool write, const void *address, int space, const char *what, int index,
                  unsigned long offset) {
  Worker *w = worker;
  Lane *l = msl_current;
  const unsigned outer = w->group.epoch[space], inner = l->simd->epoch[space];
  for (unsigned i = 0; i < size; ++i, ++cell) {
    if (space == 1 && !write && cell->write.group == 0)
      msl_fail("thread %u reads uninitialised threadgroup memory at byte %lu", l->index, offset + i);
    if (!ordered(cell->write, w, l, space))
      msl_fail("data race: thread %u %s byte %lu of %s %d, written by thread %u%s without a barrier between", l->index,
               write ? "writes" : "reads", offset + i, what, index, cell->write.thread,
               cell->write.group != w->group_serial ? " of another threadgroup" : "");
    if (write) {
      if (!ordered(cell->read, w, l, space))
        msl_fail("data race: thread %u writes byte %lu of %s %d, read by thread %u%s without a barrier between",
                 l->index, offset + i, what, index, cell->read.thread,
                 cell->read.group != w->group_serial || cell->read.many == 3 ? " of another threadgroup" : "");
      cell->write = {w->group_serial, outer, inner, l->index, 0};
    } else {
      Access &r = cell->read;
      // Several readers in one epoch: of one simdgroup (1), of several (2); or an earlier threadgroup too (3).
      unsigned short many = 0;
      if (r.group && (r.group != w->group_serial || r.many == 3))
        many = 3;
      else if (r.group && r.outer == outer) {
        if (r.many == 2 || r.thread / MSL_SIMD_WIDTH != l->simd->index)
          many = 2;
        else if (r.inner == inner && (r.many || r.thread != l->index))
          many = 1;
      }
      r = {w->group_serial, outer, inner, l->index, many};
    }
  }
  (void)address;
}
static void check(const void *address, unsigned size, bool write, bool aligned, void *caller) {
  Worker *w = worker;
  if (!w || !msl_current) return;
  w->here = static_cast<unsigned char *>(caller) - checks.image_low - 1;
  const unsigned char *p = static_cast<const unsigned char *>(address);
  const Lane *l = msl_current;
  const unsigned char *stack = w->stacks + l->index * kStack;
  if (p >= stack && p + size <= stack + kStack) return;
  if (p >= w->arena && p < w->arena + kArena) {
    const unsigned long offset = p - w->arena;
    if (offset + size > w->group.arena_used)
      msl_fail("thread %u %s threadgroup memory out of bounds: byte %lu of %u", l->index, write ? "writes" : "reads",
               offset, w->group.arena_used);
    touch(w->arena_shadow + offset, size, write, address, 1, "threadgroup memory", 0, offset);
    return;
  }
  for (int i = 0; i < checks.count; ++i) {
    Range &r = checks.ranges[i];
    if (p < r.base || p >= r.base + r.length) continue;
    const unsigned long offset = p - r.base;
    if (offset + size > r.length)
      msl_fail("thread %u %s %u bytes past the end of buffer %d (length %lu)", l->index, write ? "writes" : "reads",
               unsigned(offset + size - r.length), r.index, r.length);
    if (aligned && size <= 16 && (reinterpret_cast<uintptr_t>(p) & (size - 1)))
      msl_fail("thread %u: misaligned %u-byte access at byte %lu of buffer %d", l->index, size, offset, r.index);
    touch(r.shadow + offset, size, write, address, 0, "buffer", r.index, offset);
    if (checks.note) note_touched(p, size, write);
    return;
  }
  if (p >= reinterpret_cast<unsigned char *>(w) && p < reinterpret_cast<unsigned char *>(w) + sizeof(Worker))
    return;  // shim's own state
  const unsigned char *d = reinterpret_cast<const unsigned char *>(w->group.dispatch);
  if (p >= d && p < d + sizeof(msl_dispatch) && !write) return;  // bindings, constants
  if (p == reinterpret_cast<const unsigned char *>(&msl_current)) return;
  if (p >= checks.image_low && p < checks.image_high && !write) return;  // constants
  const Range *near = nullptr;
  long best = 0;
  for (int i = 0; i < checks.count; ++i) {
    long d = p - checks.ranges[i].base;
    if (!near || labs(d) < labs(best)) {
      near = &checks.ranges[i];
      best = d;
    }
  }
  msl_fail("thread %u %s out of bounds: byte %ld of buffer %d (length %lu)", l->index, write ? "writes" : "reads", best,
           near ? near->index : -1, near ? near->length : 0);
}
extern "C" {
#define MSL_TSAN(n)                                                                                  \
  void __tsan_read##n(void *p) { check(p, n, false, true, __builtin_return_address(0)); }            \
  void __tsan_write##n(void *p) { check(p, n, true, true, __builtin_return_address(0)); }            \
  void __tsan_volatile_read##n(void *p) { check(p, n, false, true, __builtin_return_address(0)); }   \
  void __tsan_volatile_write##n(void *p) { check(p, n, true, true, __builtin_return_address(0)); }   \
  void __tsan_unaligned_read##n(void *p) { check(p, n, false, false, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##n(void *p) { check(p, n, true, false, __builtin_return_address(0)); } \
  void __tsan_read_write##n(void *p) {                                                               \
    check(p, n, false, true, __builtin_return_address(0));                                           \
    check(p, n, true, true, __builtin_return_address(0));                                            \
  }                                                                                                  \
  void __tsan_unaligned_read_write##n(void *p) {                                                     \
    check(p, n, false, false, __builtin_return_address(0));                                          \
    check(p, n, true, false, __builtin_return_address(0));                                           \
  }
MSL_TSAN(1)
MSL_TSAN(2)
MSL_TSAN(4)
MSL_TSAN(8)
MSL_TSAN(16)
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
void *__tsan_memcpy(void *d, const void *s, unsigned long n) {
  check(s, n, false, false, __builtin_return_address(0));
  check(d, n, true, false, __builtin_return_address(0));
  return memcpy(d, s, n);
}
void *__tsan_memmove(void *d, const void *s, unsigned long n) {
  check(s, n, false, false, __builtin_return_address(0));
  check(d, n, true, false, __builtin_return_address(0));
  return memmove(d, s, n);
}
void *__tsan_memset(void *d, int c, unsigned long n) {
  check(d, n, true, false, __builtin_return_address(0));
  return memset(d, c, n);
}
}
