// runtime.cpp - selectors, classes, reference counts and pools; the message sender stands at the end.
#include "runtime.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace standin {

static std::mutex registry_lock;
static std::map<std::string, Selector *> &selectors() {
  static auto *m = new std::map<std::string, Selector *>;
  return *m;
}
static std::map<std::string, Class *> &classes() {
  static auto *m = new std::map<std::string, Class *>;
  return *m;
}
static std::string &descriptions() {
  static auto *s = new std::string;
  return *s;
}

// --- reports --------------------------------------------------------------------
void fatal(const char *format, ...) {
  char text[2048];
  va_list a;
  va_start(a, format);
  vsnprintf(text, sizeof text, format, a);
  va_end(a);
  fprintf(stderr, "metal stand-in: %s\n", text);
  fflush(stderr);
  abort();
}

static void unknown_message(Object *self, SEL sel) {
  const Class *c = self->isa;
  fatal("unknown selector: %c[%s %s]", c->destroy ? '-' : '+', c->name, sel->name);
}
static void message_to_dead(Object *self, SEL sel) { fatal("message to a %s: -%s", self->isa->name, sel->name); }

// --- selectors and classes --------------------------------------------------------
SEL selector(const char *name) {
  std::lock_guard<std::mutex> hold(registry_lock);
  Selector *&s = selectors()[name];
  if (!s) {
    if (selectors().size() >= kMaxSelectors) fatal("more than %u selectors", kMaxSelectors);
    s = new Selector{static_cast<unsigned>(selectors().size() - 1), strdup(name)};
  }
  return s;
}

static Method *method_table(const Method *from, Method fill) {
  auto *m = new Method[kMaxSelectors];
  for (unsigned i = 0; i < kMaxSelectors; ++i) m[i] = from ? from[i] : fill;
  return m;
}

static Class *bare_class(const char *name, Class *super, Method *methods) {
  auto *c = new Class{};
  c->name = name;
  c->super = super;
  c->methods = methods;
  return c;
}

Class *make_class(const char *name, Class *super, void (*destroy)(Object *), Object *(*make)()) {
  const auto unknown = reinterpret_cast<Method>(unknown_message);
  Class *c = bare_class(name, super, method_table(super ? super->methods : nullptr, unknown));
  c->isa = bare_class(name, nullptr, method_table(super ? super->isa->methods : nullptr, unknown));
  c->destroy = destroy;
  c->make = make;
  const std::string dead = std::string("released ") + name;
  c->dead = bare_class(strdup(dead.c_str()), nullptr, method_table(nullptr, reinterpret_cast<Method>(message_to_dead)));
  if (super) {
    c->sibling = super->child;
    super->child = c;
  }
  std::lock_guard<std::mutex> hold(registry_lock);
  classes()[name] = c;
  return c;
}

static void set_method(Class *c, bool meta, unsigned number, Method m) {
  Method &slot = (meta ? c->isa : c)->methods[number];
  const Method before = slot;
  slot = m;
  for (Class *k = c->child; k; k = k->sibling)
    if ((meta ? k->isa : k)->methods[number] == before) set_method(k, meta, number, m);
}

void add_method(Class *c, char sign, const char *name, unsigned arguments, Method m, const std::string &kinds) {
  unsigned colons = 0;
  for (const char *p = name; *p; ++p) colons += *p == ':';
  if (colons != arguments) fatal("%c[%s %s] is defined with %u arguments", sign, c->name, name, arguments);
  set_method(c, sign == '+', selector(name)->number, m);
  std::lock_guard<std::mutex> hold(registry_lock);
  descriptions() += std::string(c->name) + "\t" + sign + name + "\t" + kinds + "\n";
}

bool is_kind(const Object *o, const Class *c) {
  for (const Class *k = o->isa; k; k = k->super)
    if (k == c) return true;
  return false;
}

// --- reference counts ---------------------------------------------------------------
static void must_live(Object *o, const char *what) {
  if (o->references <= 0) fatal("%s of a %s", what, o->isa->name);
}

Object *retain(Object *o) {
  if (!o) return o;
  must_live(o, "retain");
  ++o->references;
  return o;
}
// Keeps the memory of the last thousands of released objects, so that messages to them are still recognised.
static void bury(Object *o) {
  static std::mutex lock;
  static auto *dead = new std::deque<Object *>;
  std::lock_guard<std::mutex> hold(lock);
  dead->push_back(o);
  if (dead->size() <= 8192) return;
  ::operator delete(dead->front());
  dead->pop_front();
}

void release(Object *o) {
  if (!o) return;
  must_live(o, "release");
  if (--o->references > 0) return;
  Class *c = o->isa;
  c->destroy(o);
  o->isa = c->dead;
  --c->live;
  bury(o);
}

// --- pools --------------------------------------------------------------------------
struct Pool {
  std::vector<Object *> objects;
};
static thread_local std::vector<Pool *> pools;

Object *autorelease(Object *o) {
  if (pools.empty()) fatal("a %s is autoreleased on a thread without a pool", o->isa->name);
  pools.back()->objects.push_back(o);
  return o;
}

static void drain(Pool *p) {
  for (size_t i = 0; i < p->objects.size(); ++i) release(p->objects[i]);
  delete p;
}
}  // namespace standin

using namespace standin;

extern "C" {
__attribute__((visibility("default"))) SEL sel_registerName(const char *name) { return selector(name); }
__attribute__((visibility("default"))) Class *objc_getClass(const char *name) {
  std::lock_guard<std::mutex> hold(registry_lock);
  auto found = classes().find(name);
  return found == classes().end() ? nullptr : found->second;
}
__attribute__((visibility("default"))) Object *objc_alloc(Class *c) {
  if (!c->make) fatal("objc_alloc(%s): instances of this class come from methods", c->name);
  return c->make();
}
__attribute__((visibility("default"))) Object *objc_retain(Object *o) { return retain(o); }
__attribute__((visibility("default"))) void objc_release(Object *o) { release(o); }
__attribute__((visibility("default"))) void *objc_autoreleasePoolPush() {
  pools.push_back(new Pool);
  return pools.back();
}
__attribute__((visibility("default"))) void objc_autoreleasePoolPop(void *token) {
  size_t at = pools.size();
  while (at > 0 && pools[at - 1] != token) --at;
  if (at == 0) fatal("a pool is popped that was not pushed on this thread, or was popped before");
  while (pools.size() >= at) {
    Pool *p = pools.back();
    drain(p);  // may send messages, which find p as their pool
    pools.pop_back();
  }
}

// Lists every method: class, sign and selector, kinds of result and arguments.
__attribute__((visibility("default"))) const char *standin_methods() { return descriptions().c_str(); }
// Counts the living objects of a class, or all when name is null; those that live by design do not count.
__attribute__((visibility("default"))) long standin_live(const char *name) {
  std::lock_guard<std::mutex> hold(registry_lock);
  long n = 0;
  for (auto &c : classes())
    if (!name || c.first == name) n += c.second->live;
  return n;
}
__attribute__((visibility("default"))) unsigned long standin_pools() { return pools.size(); }
}

// --- the message sender ---------------------------------------------------------------
// The first word of an object is its class, the second word of a class its method table, the first of a selector its
// index there. A message to nil returns zero.
#if defined(__x86_64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend,@function
objc_msgSend:
  testq %rdi, %rdi
  jz 1f
  movq (%rdi), %rax
  movq 8(%rax), %rax
  movl (%rsi), %r11d
  jmpq *(%rax,%r11,8)
1: xorl %eax, %eax
  xorl %edx, %edx
  pxor %xmm0, %xmm0
  ret
.size objc_msgSend,.-objc_msgSend
.globl objc_msgSend_stret
.type objc_msgSend_stret,@function
objc_msgSend_stret:
  movq (%rsi), %rax
  movq 8(%rax), %rax
  movl (%rdx), %r11d
  jmpq *(%rax,%r11,8)
.size objc_msgSend_stret,.-objc_msgSend_stret
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend,%function
objc_msgSend:
  cbz x0, 1f
  ldr x16, [x0]
  ldr x16, [x16, #8]
  ldr w17, [x1]
  ldr x16, [x16, x17, lsl #3]
  br x16
1: movi d0, #0
  mov x1, #0
  ret
.size objc_msgSend,.-objc_msgSend
)");
#else
#error "runtime.cpp: write objc_msgSend for this processor"
#endif
