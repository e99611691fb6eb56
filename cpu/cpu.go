// Package cpu is the Backend on any CPU. Plain Go defines every operation and runs everywhere; assembly kernels speed
// up the inner loops where the processor has the instructions. It is also the judge of the other backends.
//
// It refuses to know sessions, prompts, files and residency: it is handed tensors as mapped bytes, experts as blobs,
// and computes in the order of the calls. Every result element has one reduction order, fixed by the kernel set alone,
// so neither the number of rows nor of threads nor the order of experts changes a bit.
//
// Start reading at executor.go (the stages of the text model) and kernels.go (what an instruction set supplies).
// Numerics: float32 activations and sums, weights as scale*code + bias exactly, softmax and norms in float32.
package cpu

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Options configures a Backend. The zero value is right for production.
type Options struct {
	// Threads is the number of threads that compute, 1 to 1024. Default (0): GOMAXPROCS, which follows the CPU
	// affinity and the cgroup's CPU quota of the process.
	Threads int
	// Kernels forces a kernel set by its name, one of KernelSets. Default (""): the fastest one of this machine.
	Kernels string
	// Float32 keeps to sets that never round activations, for comparisons with references. Default: products of 4-bit
	// weights may round activations, to 8 bits at 4e-6 nat a token or to 16 at 1e-9, and those of the tower to 17
	// (docs/experiments.md, E3).
	Float32 bool
}

const maxThreads = 1024

// Validate reports every problem of o at once; those of Kernels wrap ErrKernels.
func (o Options) Validate() error {
	var problems []error
	if o.Threads < 0 || o.Threads > maxThreads {
		problems = append(problems, fmt.Errorf("%d threads: want 0 (default) to %d", o.Threads, maxThreads))
	}
	k := namedSet(o.Kernels)
	if o.Kernels != "" && k == nil {
		problems = append(problems, fmt.Errorf("%w: %q; this machine has %s",
			ErrKernels, o.Kernels, strings.Join(KernelSets(), ", ")))
	}
	if o.Float32 && k != nil && k.rounds {
		problems = append(problems, fmt.Errorf("%w: %q rounds activations and Float32 is set", ErrKernels, o.Kernels))
	}
	return joinProblems("cpu options", problems)
}

// KernelSets lists the kernel sets that this build and this machine have, fastest first. "plain" is always there. Names
// of sets that round activations to 8 bits end in "-int8".
func KernelSets() []string {
	var names []string
	for _, k := range kernelSets {
		names = append(names, k.name)
	}
	return names
}

// A Backend makes executors and towers. It holds no memory and no goroutines of its own; safe for concurrent use.
type Backend struct {
	kern    *kernelSet
	threads int
}

// New returns the backend that o asks for.
func New(o Options) (*Backend, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &Backend{kern: fastest(!o.Float32), threads: o.Threads}
	if b.threads == 0 {
		b.threads = min(runtime.GOMAXPROCS(0), maxThreads)
	}
	if o.Kernels != "" {
		b.kern = namedSet(o.Kernels)
	}
	return b, nil
}

// fastest is the first of the kernel sets, of those that do not round activations unless that is allowed.
func fastest(mayRound bool) *kernelSet {
	i := slices.IndexFunc(kernelSets, func(k *kernelSet) bool { return mayRound || !k.rounds })
	return kernelSets[i] // the last one is plain
}

// namedSet is nil when there is no set of that name.
func namedSet(name string) *kernelSet {
	i := slices.IndexFunc(kernelSets, func(k *kernelSet) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return kernelSets[i]
}

// Name is "cpu" and the kernel set.
func (b *Backend) Name() string { return "cpu (" + b.kern.name + ")" }

// Threads is the number of threads that compute.
func (b *Backend) Threads() int { return b.threads }
