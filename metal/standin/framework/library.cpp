// library.cpp - from MSL text to pipelines: MTLCompileOptions, MTLLibrary, MTLFunctionConstantValues, MTLFunction and
// MTLComputePipelineState.
#include "metal.h"
#include <dlfcn.h>

namespace standin {

template <class T> static Object *make() { return create<T>(); }

STANDIN_CLASS(CompileOptions, "MTLCompileOptions", class_of<NSObject>(), make<CompileOptions>)
STANDIN_CLASS(Library, "MTLLibrary", class_of<NSObject>(), nullptr)
STANDIN_CLASS(FunctionConstantValues, "MTLFunctionConstantValues", class_of<NSObject>(), make<FunctionConstantValues>)
STANDIN_CLASS(Function, "MTLFunction", class_of<NSObject>(), nullptr)
STANDIN_CLASS(Pipeline, "MTLComputePipelineState", class_of<NSObject>(), nullptr)

constexpr const char *kLibraryDomain = "MTLLibraryErrorDomain";

// --- compiling --------------------------------------------------------------------
static void set_version(Object *self, SEL, unsigned long v) { static_cast<CompileOptions *>(self)->version = v; }
static void set_fast_math(Object *self, SEL, bool on) { static_cast<CompileOptions *>(self)->fast_math = on; }
static void set_macros(Object *self, SEL, Object *macros) {
  static_cast<CompileOptions *>(self)->macros =
      static_cast<NSDictionary *>(retain(expect<NSDictionary>(macros, "preprocessor macros")));
}

static std::string macro_lines(const CompileOptions *o) {
  std::string lines;
  if (o && o->macros)
    for (auto &m : o->macros->items) lines += m.first + "=" + expect<NSString>(m.second, "macro value")->text + "\n";
  return lines;
}

static Library *open_library(Device *d, const char *path, std::string &why) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    why = dlerror();
    return nullptr;
  }
  auto *abi = reinterpret_cast<unsigned (*)()>(dlsym(handle, "msl_abi"));
  if (!abi || abi() != sizeof(msl_dispatch)) fatal("%s was built for another emulator", path);
  auto *l = create<Library>();
  l->device = static_cast<Device *>(retain(d));
  l->path = path;
  l->checked = d->config.checked;
  l->kernels = static_cast<const msl_kernel *>(dlsym(handle, "msl_kernels"));
  l->constants = static_cast<const msl_constant *>(dlsym(handle, "msl_constants"));
  return l;
}

static Object *new_library(Object *self, SEL, Object *source, Object *options, Object **error) {
  auto *d = static_cast<Device *>(self);
  auto *o = options ? expect<CompileOptions>(options, "compile options") : nullptr;
  auto request = std::make_unique<standin_build>();
  const unsigned long newest = d->config.metal4 ? 4 : 3;
  if (o && o->version >> 16 > newest) {
    set_error(error, kLibraryDomain, kCompileFailure,
              "language version " + std::to_string(o->version >> 16) + " is newer than this system's");
    return nullptr;
  }
  const std::string macros = macro_lines(o);
  request->source = expect<NSString>(source, "source")->text.c_str();
  request->version = o ? o->version : 0;
  request->macros = macros.c_str();
  request->checked = d->config.checked;
  if (d->config.build(request.get()) != 0) {
    set_error(error, kLibraryDomain, kCompileFailure, request->error);
    return nullptr;
  }
  std::string why;
  Library *l = open_library(d, request->path, why);
  if (!l) set_error(error, kLibraryDomain, kCompileFailure, why);
  return l;
}

static Object *function_names(Object *self, SEL) {
  auto *a = create<NSArray>();
  for (const msl_kernel *k = static_cast<Library *>(self)->kernels; k->name; ++k)
    a->items.push_back(new_string(k->name));
  return autorelease(a);
}

// --- functions ----------------------------------------------------------------------
static unsigned long constant_size(unsigned long type) {
  switch (type) {
    case kBool:
      return 1;
    case kUShort:
      return 2;
    case kFloat:
    case kInt:
    case kUInt:
      return 4;
  }
  fatal("function constant of data type %lu", type);
}
static const char *constant_type(unsigned long type) {
  switch (type) {
    case kBool:
      return "bool";
    case kUShort:
      return "ushort";
    case kInt:
      return "int";
    case kUInt:
      return "uint";
  }
  return "float";
}

static void set_constant(Object *self, SEL, const void *value, unsigned long type, unsigned long index) {
  unsigned long bits = 0;
  memcpy(&bits, value, constant_size(type));
  static_cast<FunctionConstantValues *>(self)->values[index] = {type, bits};
}

static const msl_kernel *find_kernel(const Library *l, const std::string &name) {
  for (const msl_kernel *k = l->kernels; k->name; ++k)
    if (name == k->name) return k;
  return nullptr;
}

static void check_constant(const Library *l, unsigned long index, unsigned long type) {
  for (const msl_constant *c = l->constants; c->name; ++c)
    if (static_cast<unsigned long>(c->index) == index) {
      if (strcmp(c->type, constant_type(type)) != 0)
        fatal("function constant %lu, %s, is a %s and is given as a %s", index, c->name, c->type, constant_type(type));
      return;
    }
  fatal("function constant %lu does not occur in the library", index);
}

static Function *new_function_named(Library *l, const std::string &name) {
  const msl_kernel *k = find_kernel(l, name);
  if (!k) return nullptr;
  auto *f = create<Function>();
  f->library = static_cast<Library *>(retain(l));
  f->kernel = k;
  return f;
}
static Object *new_function(Object *self, SEL, Object *name) {
  return new_function_named(static_cast<Library *>(self), expect<NSString>(name, "function name")->text);
}
static Object *new_function_with_constants(Object *self, SEL, Object *name, Object *constants, Object **error) {
  auto *l = static_cast<Library *>(self);
  auto *c = expect<FunctionConstantValues>(constants, "constant values");
  const std::string text = expect<NSString>(name, "function name")->text;
  for (auto &v : c->values) check_constant(l, v.first, v.second.type);
  Function *f = new_function_named(l, text);
  if (f)
    f->constants = c->values;
  else
    set_error(error, kLibraryDomain, kFunctionNotFound, "Function " + text + " was not found in the library");
  return f;
}

// --- pipelines ------------------------------------------------------------------------
static Object *new_pipeline(Object *self, SEL, Object *function, Object **error) {
  auto *d = static_cast<Device *>(self);
  auto *f = expect<Function>(function, "function");
  if (f->kernel->threadgroup_bytes > d->config.max_threadgroup_memory) {
    set_error(error, kLibraryDomain, kCompileFailure,
              std::string(f->kernel->name) + ": threadgroup memory of " + std::to_string(f->kernel->threadgroup_bytes) +
                  " bytes exceeds the limit of " + std::to_string(d->config.max_threadgroup_memory));
    return nullptr;
  }
  auto *p = create<Pipeline>();
  p->function = static_cast<Function *>(retain(f));
  p->max_threads = d->config.max_threads;
  if (f->kernel->max_threads && f->kernel->max_threads < p->max_threads) p->max_threads = f->kernel->max_threads;
  return p;
}
static unsigned long pipeline_threads(Object *self, SEL) { return static_cast<Pipeline *>(self)->max_threads; }
static unsigned long pipeline_width(Object *, SEL) { return MSL_SIMD_WIDTH; }
static unsigned long pipeline_memory(Object *self, SEL) {
  return static_cast<Pipeline *>(self)->kernel()->threadgroup_bytes;
}

static Register registered([] {
  Class *options = class_of<CompileOptions>(), *library = class_of<Library>(), *pipeline = class_of<Pipeline>();
  method(options, '-', "setLanguageVersion:", set_version);
  method(options, '-', "setFastMathEnabled:", set_fast_math);
  method(options, '-', "setPreprocessorMacros:", set_macros);
  method(class_of<Device>(), '-', "newLibraryWithSource:options:error:", new_library);
  method(class_of<Device>(), '-', "newComputePipelineStateWithFunction:error:", new_pipeline);
  method(library, '-', "functionNames", function_names);
  method(library, '-', "newFunctionWithName:", new_function);
  method(library, '-', "newFunctionWithName:constantValues:error:", new_function_with_constants);
  method(class_of<FunctionConstantValues>(), '-', "setConstantValue:type:atIndex:", set_constant);
  (void)class_of<Function>();
  method(pipeline, '-', "maxTotalThreadsPerThreadgroup", pipeline_threads);
  method(pipeline, '-', "threadExecutionWidth", pipeline_width);
  method(pipeline, '-', "staticThreadgroupMemoryLength", pipeline_memory);
});

}  // namespace standin
