// foundation.cpp - NSObject, NSString, NSArray, NSDictionary, NSError.
#include "foundation.h"

namespace standin {

constexpr unsigned long kUTF8 = 4;

template <class T> static Object *make() { return create<T>(); }

STANDIN_CLASS(NSObject, "NSObject", nullptr, nullptr)
STANDIN_CLASS(NSString, "NSString", class_of<NSObject>(), make<NSString>)
STANDIN_CLASS(NSArray, "NSArray", class_of<NSObject>(), nullptr)
STANDIN_CLASS(NSDictionary, "NSDictionary", class_of<NSObject>(), nullptr)
STANDIN_CLASS(NSError, "NSError", class_of<NSObject>(), nullptr)

NSString *new_string(const std::string &text) {
  auto *s = create<NSString>();
  s->text = text;
  return s;
}
NSError *new_error(const char *domain, long code, std::function<std::string()> describe) {
  auto *e = create<NSError>();
  e->domain = domain;
  e->code = code;
  e->describe = std::move(describe);
  return e;
}
void set_error(Object **error, const char *domain, long code, const std::string &text) {
  if (error) *error = autorelease(new_error(domain, code, [text] { return text; }));
}
NSArray::~NSArray() {
  for (Object *o : items) release(o);
}
NSDictionary::~NSDictionary() {
  for (auto &i : items) release(i.second);
}

static Object *init(Object *self, SEL) { return self; }

static Object *init_with_cstring(Object *self, SEL, const char *text, unsigned long encoding) {
  if (encoding != kUTF8) fatal("initWithCString:encoding: with encoding %lu", encoding);
  static_cast<NSString *>(self)->text = text;
  return self;
}
static const char *utf8(Object *self, SEL) { return static_cast<NSString *>(self)->text.c_str(); }

static unsigned long array_count(Object *self, SEL) { return static_cast<NSArray *>(self)->items.size(); }
static Object *array_at(Object *self, SEL, unsigned long i) {
  auto *a = static_cast<NSArray *>(self);
  if (i >= a->items.size()) fatal("objectAtIndex: %lu of %zu", i, a->items.size());
  return a->items[i];
}

static Object *dictionary_of(Object *, SEL, Object *const *objects, Object *const *keys, unsigned long count) {
  auto *d = create<NSDictionary>();
  for (unsigned long i = 0; i < count; ++i)
    d->items.emplace_back(expect<NSString>(keys[i], "dictionary key")->text, retain(objects[i]));
  return autorelease(d);
}

static Object *error_domain(Object *self, SEL) { return autorelease(new_string(static_cast<NSError *>(self)->domain)); }
static long error_code(Object *self, SEL) { return static_cast<NSError *>(self)->code; }
static Object *error_description(Object *self, SEL) {
  return autorelease(new_string(static_cast<NSError *>(self)->describe()));
}

static Register foundation([] {
  Class *object = class_of<NSObject>(), *string = class_of<NSString>(), *array = class_of<NSArray>();
  Class *error = class_of<NSError>();
  method(object, '-', "init", init);
  method(string, '-', "initWithCString:encoding:", init_with_cstring);
  method(string, '-', "UTF8String", utf8);
  method(array, '-', "count", array_count);
  method(array, '-', "objectAtIndex:", array_at);
  method(class_of<NSDictionary>(), '+', "dictionaryWithObjects:forKeys:count:", dictionary_of);
  method(error, '-', "domain", error_domain);
  method(error, '-', "code", error_code);
  method(error, '-', "localizedDescription", error_description);
});

}  // namespace standin
