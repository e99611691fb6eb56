// runtime.h - the part of an Objective-C runtime that the stand-in framework needs: selectors, classes with method
// tables, reference counts, autorelease pools, and reports that end the process.
//
// Objects are C++ structs that begin with Object. A released object keeps its memory and gets a class without methods,
// so that a message to it is reported and not undefined.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace standin {

constexpr unsigned kMaxSelectors = 512;

struct Selector {
  unsigned number;  // index in every method table; read by objc_msgSend, so first
  const char *name;
};
using SEL = const Selector *;
using Method = void (*)();

struct Object;

struct Class {
  Class *isa;       // the metaclass, for messages to the class; read by objc_msgSend, so first
  Method *methods;  // [kMaxSelectors]; read by objc_msgSend, so second
  const char *name;
  Class *super;
  Class *dead;                // what a released instance becomes
  void (*destroy)(Object *);  // ends an instance without freeing its memory; null for metaclasses
  Object *(*make)();          // a new instance for objc_alloc; null when instances come from methods only
  std::atomic<long> live;     // instances
  Class *child, *sibling;     // subclasses, which inherit methods added later too
};

struct Object {
  Class *isa;
  std::atomic<long> references;
  std::atomic<unsigned long> holder;  // serial of the command buffer that retained this last
};

// The class of C++ type T, defined by STANDIN_CLASS beside T's methods.
template <class T> Class *class_of();

SEL selector(const char *name);
Class *make_class(const char *name, Class *super, void (*destroy)(Object *), Object *(*make)());
bool is_kind(const Object *o, const Class *c);

// Prints "metal stand-in: ..." with what the calling thread was sent last, and aborts.
[[noreturn]] void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

Object *retain(Object *o);
void release(Object *o);
Object *autorelease(Object *o);

template <class T> T *create() {
  T *o = new T();
  o->isa = class_of<T>();
  o->references = 1;
  ++o->isa->live;
  return o;
}

// Arguments that must be objects of a class are checked where they are used.
template <class T> T *expect(Object *o, const char *what) {
  if (o == nullptr) fatal("%s is nil", what);
  if (!is_kind(o, class_of<T>())) fatal("%s is a %s, not a %s", what, o->isa->name, class_of<T>()->name);
  return static_cast<T *>(o);
}

// --- registration of methods --------------------------------------------------
struct Size {
  unsigned long width, height, depth;
};
struct Range {
  unsigned long location, length;
};

// One word per kind of argument, as the test of the binding spells them.
template <class T> constexpr const char *kind_name() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_void_v<U>)
    return "void";
  else if constexpr (std::is_pointer_v<U>)
    return "pointer";
  else if constexpr (std::is_same_v<U, bool>)
    return "bool";
  else if constexpr (std::is_same_v<U, double>)
    return "double";
  else if constexpr (std::is_same_v<U, unsigned char>)
    return "byte";
  else if constexpr (std::is_same_v<U, unsigned long>)
    return "uint";
  else if constexpr (std::is_same_v<U, long>)
    return "int";
  else if constexpr (std::is_same_v<U, Size>)
    return "size";
  else if constexpr (std::is_same_v<U, Range>)
    return "range";
}

void add_method(Class *c, char sign, const char *name, unsigned arguments, Method m, const std::string &kinds);

template <class R, class... A> void method(Class *c, char sign, const char *name, R (*m)(Object *, SEL, A...)) {
  std::string kinds = kind_name<R>();
  ((kinds += ' ', kinds += kind_name<A>()), ...);
  add_method(c, sign, name, sizeof...(A), reinterpret_cast<Method>(m), kinds);
}

// Runs at load time: registers a class.
struct Register {
  explicit Register(void (*define)()) { define(); }
};

#define STANDIN_CLASS(T, NAME, SUPER, MAKE)                                                        \
  template <> Class *class_of<T>() {                                                               \
    static Class *c = make_class(NAME, SUPER, [](Object *o) { static_cast<T *>(o)->~T(); }, MAKE); \
    return c;                                                                                      \
  }

}  // namespace standin
