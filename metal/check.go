package metal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fieldfare/fieldfare/shaders"
)

// CheckSize says at which dimensions the kernels are checked.
type CheckSize int

const (
	// CheckSmall: small and awkward, for the first load on a device: under a second.
	CheckSmall CheckSize = iota
	// CheckFull: those of the 26B and of its tower.
	CheckFull
)

// A CheckResult is what a check of one kernel found.
type CheckResult struct {
	Kernel string
	// Off is the largest distance from float64 arithmetic, in units of what the sum runs through; Limit is what is
	// accepted. NaN where a kernel left something unwritten.
	Off, Limit float64
	// Optional: nothing needs the kernel, which has another beside it.
	Optional bool
	// Err is a failure to run.
	Err  error
	Took time.Duration
}

// OK reports whether the kernel computed what it should.
func (r CheckResult) OK() bool { return r.Err == nil && r.Off <= r.Limit }

func (r CheckResult) String() string {
	if r.Err != nil {
		return fmt.Sprintf("%s: %v", r.Kernel, r.Err)
	}
	return fmt.Sprintf("%s: off by %.1e, limit %.0e", r.Kernel, r.Off, r.Limit)
}

// CheckError joins the failures among results but for optional kernels; the error wraps ErrKernel and names every kernel.
// nil: all is well.
func CheckError(results []CheckResult) error {
	var failed []error
	for _, r := range results {
		if !r.OK() && !r.Optional {
			failed = append(failed, fmt.Errorf("%w: %v", ErrKernel, r))
		}
	}
	return joinProblems("metal", failed)
}

// Check runs every kernel on seeded inputs and compares it with plain loops in float64, which share nothing with the
// kernels but the formula. What the device does not run, the tower's kernels or those of tensor operations, is left out.
// An error is ctx's.
func (b *Backend) Check(ctx context.Context, size CheckSize) ([]CheckResult, error) {
	var results []CheckResult
	for _, k := range shaders.Kernels {
		if !b.runs(k.Library) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return results, err
		}
		results = append(results, b.check(&k, size))
	}
	return results, nil
}

func (b *Backend) check(spec *shaders.Kernel, size CheckSize) CheckResult {
	from := time.Now()
	c := &checker{b: b, s: b.stream("check " + spec.Name), rng: seededFor(spec.Name), full: size == CheckFull}
	r := CheckResult{Kernel: spec.Name, Optional: spec.Library == shaders.Tensors}
	c.k, r.Err = b.kernel(spec.Name)
	if r.Err == nil {
		family, variant := splitName(spec.Name)
		checks[family](c, variant)
		r.Err = errors.Join(c.err, c.s.reset())
	}
	c.free()
	r.Off, r.Limit, r.Took = c.off, c.limit, time.Since(from)
	return r
}
