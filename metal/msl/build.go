package msl

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// A HostLibrary is MSL compiled for the emulator.
type HostLibrary struct {
	// Path is the shared library; its contract stands in shim/msl_host_rt.h.
	Path string
	// Checked tells that every memory access is checked.
	Checked bool
	*Translation
}

// hostFlags: half and bfloat round after each operation and nothing is contracted, so that results do not depend on
// the host's optimiser.
var hostFlags = []string{"-std=c++17", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fno-rtti",
	"-fno-strict-aliasing", "-Xclang", "-ffloat16-excess-precision=none", "-Xclang", "-fbfloat16-excess-precision=none",
	"-fvisibility=hidden", "-Wno-unknown-pragmas", "-Wno-reserved-user-defined-literal", "-Wno-duplicate-decl-specifier"}

// checkedFlags: the thread sanitizer's instrumentation, whose calls end in the emulator's runtime, not in its library.
var checkedFlags = []string{"-O1", "-g", "-fno-vectorize", "-fno-slp-vectorize", "-fsanitize=thread",
	"-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-instrument-atomics=0"}

var fastFlags = []string{"-O2", "-g1"}

// Build translates s and compiles it for the emulator, fast or with every memory access checked.
func (t *Toolchain) Build(s Source, checked bool) (*HostLibrary, error) {
	tr, err := t.Translate(s)
	if err != nil {
		return nil, err
	}
	suffix := ".so"
	if checked {
		suffix = ".checked.so"
	}
	path, err := t.cached(tr.key+suffix, func(out string) error { return t.compile(tr, checked, out) })
	if err != nil {
		return nil, err
	}
	return &HostLibrary{path, checked, tr}, nil
}

func (t *Toolchain) compile(tr *Translation, checked bool, out string) error {
	shim, err := t.shimFolder()
	if err != nil {
		return err
	}
	runtime, err := t.runtimeObject(checked)
	if err != nil {
		return err
	}
	args := slices.Concat(hostFlags, marchFlags, fastFlags)
	if checked {
		args = slices.Concat(hostFlags, marchFlags, checkedFlags)
	}
	object := out + ".o"
	defer os.Remove(object)
	_, messages, err := t.run(tr.Host, append(args, "-I", shim, "-c", "-x", "c++", "-", "-o", object)...)
	switch {
	case errors.Is(err, ErrNoCompiler):
		return err
	case err != nil:
		return compileError(nil, messages)
	}
	return t.clangFile("-shared", "-o", out, object, runtime, "-lm", "-lpthread", "-Wl,-Bsymbolic")
}

// runtimeObject compiles the emulator's scheduler, which is linked into every library.
func (t *Toolchain) runtimeObject(checked bool) (string, error) {
	shim, err := t.shimFolder()
	if err != nil {
		return "", err
	}
	name, args := "runtime-"+ownDigest()+".o", []string{"-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden"}
	if checked {
		name, args = "runtime-"+ownDigest()+".checked.o", append(args, "-DMSL_CHECKED")
	}
	return t.cached(name, func(out string) error {
		return t.clangFile(append(args, "-c", filepath.Join(shim, "msl_host_runtime.cpp"), "-o", out)...)
	})
}

// CheckCUDA compiles the CUDA text with clang, for which no CUDA installation is needed.
func (t *Toolchain) CheckCUDA(tr *Translation) error {
	shim, err := t.shimFolder()
	if err != nil {
		return err
	}
	_, messages, err := t.run(tr.CUDA, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
		"--offload-arch=sm_90", "-std=c++17", "-O2", "-S", "-o", os.DevNull, "-Wno-everything", "-I", shim,
		"-include", filepath.Join(shim, "cuda_stub.h"), "-")
	if err != nil && !errors.Is(err, ErrNoCompiler) {
		return compileError(nil, messages)
	}
	return err
}
