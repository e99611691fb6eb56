package metal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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

// checks holds one check per family of kernels. It may dispatch other kernels than c.k to feed it.
var checks = map[string]func(c *checker, variant string){
	"embed_int4": checkEmbed, "rmsnorm": checkNorm, "rmsnorm_add": checkNorm, "router_input": checkRouterInput,
	"tail": checkTail, "choose": checkChoose,
	"affine": checkAffine, "affine_geglu": checkGeglu, "expert_geglu": checkExpertGeglu, "expert_down": checkExpertDown,
	"heads": checkHeads, "attend": checkAttend, "attend_split": checkSplit, "attend_join": checkSplit,
	"pixels": checkPixels, "positions": checkPositions, "tower_heads": checkTowerHeads, "tower_attend": checkTowerAttend,
	"affine_tensor": checkAffineTensor, "dense_tensor": checkDense,
	"dense": checkDense, "dense_simd": checkDense, "geglu": checkElementGeglu, "pool": checkPool,
}

// splitName parts a kernel's name into its family and the rest.
func splitName(name string) (family, variant string) {
	for f := range checks {
		if rest, ok := strings.CutPrefix(name, f+"_"); ok && len(f) > len(family) && checks[name] == nil {
			family, variant = f, rest
		}
	}
	if checks[name] != nil {
		return name, ""
	}
	if family == "" {
		panic("BUG: metal: kernel " + name + " has no check")
	}
	return family, variant
}

func seededFor(name string) *rand.Rand {
	var seed uint64 = 14695981039346656037
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, 7))
}
