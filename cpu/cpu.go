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
}

const maxThreads = 1024

// Validate reports every problem of o at once; those of Kernels wrap ErrKernels.
func (o Options) Validate() error {
	var problems []error
	if o.Threads < 0 || o.Threads > maxThreads {
		problems = append(problems, fmt.Errorf("%d threads: want 0 (default) to %d", o.Threads, maxThreads))
	}
	if o.Kernels != "" && !slices.Contains(KernelSets(), o.Kernels) {
		problems = append(problems, fmt.Errorf("%w: %q; this machine has %s",
			ErrKernels, o.Kernels, strings.Join(KernelSets(), ", ")))
	}
	return joinProblems("cpu options", problems)
}

// KernelSets lists the kernel sets that this build and this machine have, fastest first. "plain" is always there.
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
	b := &Backend{kern: kernelSets[0], threads: o.Threads}
	if b.threads == 0 {
		b.threads = min(runtime.GOMAXPROCS(0), maxThreads)
	}
	for _, k := range kernelSets {
		if k.name == o.Kernels {
			b.kern = k
		}
	}
	return b, nil
}

// Name is "cpu" and the kernel set.
func (b *Backend) Name() string { return "cpu (" + b.kern.name + ")" }

// Threads is the number of threads that compute.
func (b *Backend) Threads() int { return b.threads }
