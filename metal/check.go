package metal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
	"github.com/fieldfare/fieldfare/metal/driver"
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

// CheckError joins the failures among results; the error wraps ErrKernel and names every kernel. nil: all is well.
func CheckError(results []CheckResult) error {
	var failed []error
	for _, r := range results {
		if !r.OK() {
			failed = append(failed, fmt.Errorf("%w: %v", ErrKernel, r))
		}
	}
	return joinProblems("metal", failed)
}

// Check runs every kernel on seeded inputs and compares it with plain loops in float64, which share nothing with the
// kernels but the formula. The tower's kernels are left out on devices that run text alone. An error is ctx's.
func (b *Backend) Check(ctx context.Context, size CheckSize) ([]CheckResult, error) {
	var results []CheckResult
	for _, k := range shaders.Kernels {
		if k.Library == shaders.Tower && b.Images() != nil {
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
	c := &checker{b: b, s: stream{queue: b.queue, label: "check " + spec.Name}, rng: seededFor(spec.Name), full: size == CheckFull}
	r := CheckResult{Kernel: spec.Name}
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

// A checker makes inputs, runs c.k and keeps the largest distance. The first error stops the rest.
type checker struct {
	b       *Backend
	k       *kernel
	s       stream
	rng     *rand.Rand
	full    bool
	buffers []driver.Buffer
	off     float64
	limit   float64
	err     error
}

func (c *checker) free() {
	for _, b := range c.buffers {
		b.Free()
	}
}

// size picks between the dimension of a small and of a full check.
func (c *checker) size(small, full int) int {
	if c.full {
		return full
	}
	return small
}

// buffer makes a buffer of n bytes, at least a few.
func (c *checker) buffer(n int) driver.Buffer {
	b, err := c.b.device.NewBuffer(max(n, 16))
	if err != nil {
		c.err = errors.Join(c.err, err)
		b = hostBuffer(make([]byte, max(n, 16))) // keeps the check going to its end, where c.err counts
	} else {
		c.buffers = append(c.buffers, b)
	}
	return b
}

// random makes n normal floats of the given spread.
func (c *checker) random(n int, spread float64) (driver.Buffer, []float32) {
	b := c.buffer(4 * n)
	x := floats(b)[:n]
	for i := range x {
		x[i] = float32(c.rng.NormFloat64() * spread)
	}
	return b, x
}

// unwritten makes n floats that are no numbers.
func (c *checker) unwritten(n int) (driver.Buffer, []float32) {
	b := c.buffer(4 * n)
	x := floats(b)[:n]
	for i := range x {
		x[i] = float32(math.NaN())
	}
	return b, x
}

// run dispatches k on threadgroups and waits.
func (c *checker) run(k *kernel, groups driver.Size, args ...argument) {
	if c.err == nil {
		c.s.dispatch(k, groups, args...)
		c.err = c.s.wait()
	}
}

func (c *checker) runThreads(k *kernel, grid driver.Size, args ...argument) {
	if c.err == nil {
		c.s.dispatchThreads(k, grid, args...)
		c.err = c.s.wait()
	}
}

// near notes how far got is from want, in units of magnitude.
func (c *checker) near(got float32, want, magnitude float64) {
	if d := math.Abs(float64(got)-want) / (magnitude + 1e-30); !(d <= c.off) {
		c.off = d
	}
}

// A tensors hands out places in one buffer of weights, every other time at an address that is no multiple of 4.
type tensors struct {
	c      *checker
	buffer driver.Buffer
	used   int
}

func (c *checker) tensors(size int) *tensors { return &tensors{c: c, buffer: c.buffer(size + 4096)} }

func (t *tensors) take(n int) (at int, part []byte) {
	t.used = (t.used+1)&^1 + 2
	at = t.used
	t.used += n
	return at, t.buffer.Bytes()[at : at+n : at+n]
}

// vector makes n bf16 values around mean and returns their place, in elements, and their values.
func (t *tensors) vector(n int, mean, spread float64) (uint32, []float64) {
	at, part := t.take(2 * n)
	values := make([]float64, n)
	for i := range values {
		bits := bf16.Bits(float32(mean + spread*t.c.rng.NormFloat64()))
		part[2*i], part[2*i+1] = byte(bits), byte(bits>>8)
		values[i] = float64(bf16.Float32(bits))
	}
	return u32(at / 2), values
}

// affine makes a matrix whose weights have standard deviation about 1/sqrt(in).
func (t *tensors) affine(out, in, bits int) (shaders.Matrix, core.Affine) {
	w := core.Affine{Out: out, In: in, Bits: bits}
	var m shaders.Matrix
	place := func(n int, part *[]byte) uint32 {
		at, b := t.take(n)
		*part = b
		return u32(at)
	}
	groups := out * in / groupSize
	m.Codes, m.Scales, m.Biases = place(out*in*bits/8, &w.Codes), place(2*groups, &w.Scales), place(2*groups, &w.Biases)
	for i := range w.Codes {
		w.Codes[i] = byte(t.c.rng.Uint32())
	}
	top := float64(int(1)<<bits - 1)
	for g := range groups {
		s := math.Sqrt(12/float64(in)) / top * (0.5 + t.c.rng.Float64()) * float64(1-2*t.c.rng.IntN(2))
		putBF16(w.Scales[2*g:], s)
		putBF16(w.Biases[2*g:], -s*top/2*(0.8+0.4*t.c.rng.Float64()))
	}
	return m, w
}

func putBF16(dst []byte, v float64) {
	bits := bf16.Bits(float32(v))
	dst[0], dst[1] = byte(bits), byte(bits>>8)
}

func bf16At(v []byte, i int) float64 {
	return float64(bf16.Float32(uint16(v[2*i]) | uint16(v[2*i+1])<<8))
}

// row dequantizes output o of w: exact in float64.
func row(w core.Affine, o int) []float64 {
	values := make([]float64, w.In)
	for i := range values {
		at, g := o*w.In+i, (o*w.In+i)/groupSize
		code := w.Codes[at*w.Bits/8]
		if w.Bits == 4 {
			code = code >> (4 * (i % 2)) & 15
		}
		values[i] = bf16At(w.Scales, g)*float64(code) + bf16At(w.Biases, g)
	}
	return values
}

// dot is the product of two rows, and the sum of the absolute terms: what rounding errors are measured by.
func dot(w []float64, x []float32) (sum, magnitude float64) {
	for i, v := range w {
		term := v * float64(x[i])
		sum += term
		magnitude += math.Abs(term)
	}
	return sum, magnitude
}

// rms is RMSNorm in float64; a nil w stands for ones.
func rms(x []float32, w []float64, eps float32) []float64 {
	squares := 0.0
	for _, v := range x {
		squares += float64(v) * float64(v)
	}
	scale := 1 / math.Sqrt(squares/float64(len(x))+float64(eps))
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v) * scale
		if w != nil {
			y[i] *= w[i]
		}
	}
	return y
}

func geluOf(t float64) float64 {
	return 0.5 * t * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(t+0.044715*t*t*t)))
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// hostBuffer stands in where the device has no memory left.
type hostBuffer []byte

func (b hostBuffer) Len() int          { return len(b) }
func (b hostBuffer) Bytes() []byte     { return b }
func (b hostBuffer) Modified(_, _ int) {}
func (b hostBuffer) SetLabel(string)   {}
func (b hostBuffer) Free()             {}
