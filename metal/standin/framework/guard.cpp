// guard.cpp - catches the CPU at memory that queued work uses: from commit until the work is over, the CPU's view of a
// buffer that the work writes is closed, and of one that it reads is read-only. The fault handler says whose memory it
// was, and lets the program die with its own trace.
//
// The emulator has a view of its own, but not of wrapped memory: there only what is read can be guarded.
#include "metal.h"
#include <cstdio>
#include <set>
#include <signal.h>
#include <sys/mman.h>

namespace standin {

static std::recursive_mutex lock;
static std::set<Buffer *> &all() {
  static auto *s = new std::set<Buffer *>;
  return *s;
}
static struct sigaction before;

static const char *use(const Buffer *b) { return b->writers ? "writes" : "reads"; }

static void on_fault(int number, siginfo_t *info, void *context) {
  const auto *p = static_cast<unsigned char *>(info->si_addr);
  if (lock.try_lock()) {
    for (const Buffer *b : all())
      if (p >= b->cpu && p < b->cpu + b->mapped && (b->readers || b->writers)) {
        fprintf(stderr,
                "metal stand-in: the CPU %s byte %ld of buffer '%s' (%lu bytes) while command buffer '%s', which %s "
                "it, is queued\n",
                b->writers ? "touches" : "writes", long(p - b->cpu), b->label.c_str(), b->length, b->user.c_str(),
                use(b));
        break;
      }
    lock.unlock();
  }
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
    before.sa_sigaction(number, info, context);
  else
    signal(number, SIG_DFL);
}

static void install() {
  static bool done = false;
  if (done) return;
  done = true;
  struct sigaction a{};
  a.sa_sigaction = on_fault;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&a.sa_mask);
  sigaction(SIGSEGV, &a, &before);
}

// Whether the page at p may be written, as the kernel lists it.
static bool writable(const unsigned char *p) {
  FILE *f = fopen("/proc/self/maps", "r");
  if (!f) return false;
  const auto at = reinterpret_cast<unsigned long>(p);
  bool found = false;
  for (char line[4096]; fgets(line, sizeof line, f);) {
    unsigned long low, high;
    char rights[8];
    if (sscanf(line, "%lx-%lx %4s", &low, &high, rights) == 3 && at >= low && at < high) found = rights[1] == 'w';
  }
  fclose(f);
  return found;
}

void guard_add(Buffer *b) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  install();
  if (b->wrapped) b->cpu_writable = writable(b->cpu);
  b->protection = PROT_READ | PROT_WRITE;
  all().insert(b);
}
void guard_remove(Buffer *b) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  all().erase(b);
}

static void apply(Buffer *b) {
  int want = PROT_READ | PROT_WRITE;
  if (b->readers) want = PROT_READ;
  if (b->writers) want = b->wrapped ? PROT_READ | PROT_WRITE : PROT_NONE;
  if (want == b->protection || !b->cpu_writable || !b->device->config.protect) return;
  if (mprotect(b->cpu, b->mapped, want) != 0) fatal("mprotect of buffer '%s' failed", b->label.c_str());
  b->protection = want;
}

// Visits the buffers of a command buffer once each, with whether they are written.
template <class F> static void each_buffer(const CommandBuffer *c, F visit) {
  std::map<Buffer *, bool> used;
  for (const Given &g : c->given)
    if (g.binding.buffer) used[g.binding.buffer] |= g.argument->writable;
  for (const Copy &k : c->copies) used[k.to] = true, used[k.from] |= false;
  for (const Fill &k : c->fills) used[k.to] = true;
  for (auto &u : used) visit(u.first, u.second);
}

void guard_begin(const CommandBuffer *c) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  each_buffer(c, [c](Buffer *b, bool written) {
    ++(written ? b->writers : b->readers);
    b->user = c->label;
    apply(b);
  });
}
void guard_end(const CommandBuffer *c) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  each_buffer(c, [](Buffer *b, bool written) {
    --(written ? b->writers : b->readers);
    apply(b);
  });
}

void guard_check_contents(Buffer *b) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  if (b->writers && b->device->config.protect)
    fatal("contents of buffer '%s' while command buffer '%s', which writes it, is queued", b->label.c_str(),
          b->user.c_str());
}

}  // namespace standin
