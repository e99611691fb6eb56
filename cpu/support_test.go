package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// tolerance holds the largest accepted error of each operation against float64, relative to the magnitude that the
// sum runs through (the sum of the absolute terms for products). A float32 sum of n terms in lanes is good to about
// sqrt(n)*2^-24 of that; the table leaves a factor of a few.
var tolerance = map[string]float64{
	"affine": 1e-6,
	// Activations of 16 bits: half a step of 2^-15 of the group's largest, against the terms' sum.
	"affine int16": 3e-5,
	// Of 8 bits: half a step of 2^-7, of which much cancels within a group. int8_test.go is strict.
	"affine int8": 1e-2,
	"dense":       1e-6,
	// Activations of two bfloat16: 2^-17 of each.
	"dense neon-bf16": 8e-6,
	"attention":       2e-6, // of the largest value
	"exp":             2e-7, // relative
	"norm":            1e-6, // relative
	"geglu":           1e-6, // of |gate*up|
	"softcap":         2e-7, // of the limit
	"rope":            1e-6,
	"model":           2e-4, // of the largest logit, six layers
	"model int16":     5e-3,
	"model int8":      6e-1, // random weights amplify rounding: loss_test.go has the judge
	"tower":           1e-4, // of the largest value
}

// tolerated is the tolerance of an operation in a kernel set: another where that set or all that round activations have
// their own.
func tolerated(operation string, k *kernelSet) float64 {
	if own, ok := tolerance[operation+" "+k.name]; ok {
		return own
	}
	if own, ok := tolerance[operation+" "+rounding(k)]; ok {
		return own
	}
	return tolerance[operation]
}

// rounding is what a set rounds activations to, if it does.
func rounding(k *kernelSet) string {
	switch {
	case !k.rounds:
		return ""
	case strings.HasSuffix(k.name, "-int8"):
		return "int8"
	}
	return "int16"
}

// eachSet runs f once per kernel set of this machine. Short runs (under emulation) leave the plain set to builds that
// have no other.
func eachSet(t *testing.T, f func(t *testing.T, k *kernelSet)) {
	t.Helper()
	for _, k := range kernelSets {
		if testing.Short() && k == plainKernels && len(kernelSets) > 1 {
			continue
		}
		t.Run(k.name, func(t *testing.T) { f(t, k) })
	}
}

// eachSetBy is eachSet for what only depends on one kernel of a set. Short runs leave out sets that have the kernel of
// another.
func eachSetBy(t *testing.T, kernel func(k *kernelSet) any, f func(t *testing.T, k *kernelSet)) {
	t.Helper()
	seen := map[uintptr]bool{}
	eachSet(t, func(t *testing.T, k *kernelSet) {
		code := reflect.ValueOf(kernel(k)).Pointer()
		if !testing.Short() || !seen[code] {
			f(t, k)
		}
		seen[code] = true
	})
}

// The kernels that tests depend on.
func affineOf(k *kernelSet) any { return k.affine }
func denseOf(k *kernelSet) any  { return k.dense }
func scoresOf(k *kernelSet) any { return k.scores }

func seeded(name string) *rand.Rand {
	var seed uint64 = 14695981039346656037
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, 5))
}

func randomFloats(r *rand.Rand, n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	return x
}

// randomVector is a bf16 vector around mean.
func randomVector(r *rand.Rand, n int, mean, spread float64) core.Vector {
	v := guarded(2 * n)
	for i := range n {
		b := bf16.Bits(float32(mean + spread*r.NormFloat64()))
		v[2*i], v[2*i+1] = byte(b), byte(b>>8)
	}
	return v
}

// randomAffine is a matrix whose weights have standard deviation about 1/sqrt(in), with scales of both signs. Its
// parts end at memory that may not be read, or lie at addresses that are only even.
func randomAffine(r *rand.Rand, out, in, bits int) core.Affine {
	groups := out * in / groupSize
	w := core.Affine{
		Codes: guarded(out*in*bits/8 + 2*(out%2))[:out*in*bits/8], Scales: guarded(2 * groups), Biases: guarded(2 * groups),
		Out: out, In: in, Bits: bits,
	}
	for i := range w.Codes {
		w.Codes[i] = byte(r.Uint32())
	}
	top := float64(int(1)<<bits - 1)
	for g := range groups {
		s := math.Sqrt(12/float64(in)) / top * (0.5 + r.Float64())
		if r.IntN(2) == 0 {
			s = -s
		}
		put := func(dst []byte, v float64) {
			b := bf16.Bits(float32(v))
			dst[2*g], dst[2*g+1] = byte(b), byte(b>>8)
		}
		put(w.Scales, s)
		put(w.Biases, -s*top/2*(0.8+0.4*r.Float64()))
	}
	return w
}

// weight is w[o, i] in float64: exact.
func weight(w core.Affine, o, i int) float64 {
	g := (o*w.In + i) / groupSize
	var code byte
	if w.Bits == 8 {
		code = w.Codes[o*w.In+i]
	} else {
		code = w.Codes[(o*w.In+i)/2] >> (4 * (i % 2)) & 15
	}
	return float64(vectorAt(w.Scales, g))*float64(code) + float64(vectorAt(w.Biases, g))
}

// wantNear fails when got is further than tol*magnitude from want.
func wantNear(t *testing.T, what string, got float32, want, magnitude, tol float64) {
	t.Helper()
	if diff := math.Abs(float64(got) - want); !(diff <= tol*magnitude+1e-30) {
		t.Fatalf("%s: got %g, want %g: off by %.3g of %.3g, allowed %.3g", what, got, want, diff/magnitude, magnitude, tol)
	}
}

// wantSameBits fails at the first element that differs in any bit.
func wantSameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d is %v (%#x), want %v (%#x)", what, i,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func sized(parts ...any) string { return fmt.Sprint(parts...) }

func containsText(err error, part string) bool { return strings.Contains(err.Error(), part) }
