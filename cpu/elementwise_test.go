package cpu

import (
	"math"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// lengths are where loops over vectors of 4, 8 and 16 lanes end early, late and exactly.
var lengths = []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 72, 256, 704, 2816}

func TestNormEqualsItsFormula(t *testing.T) {
	const eps = 1e-6
	eachSet(t, func(t *testing.T, k *kernelSet) {
		for _, n := range lengths {
			r := seeded(sized("norm ", n))
			x := randomFloats(r, n, 30)
			for _, w := range []core.Vector{nil, randomVector(r, n, 4, 2)} {
				var sum float64
				for _, v := range x {
					sum += float64(v) * float64(v)
				}
				scale := 1 / math.Sqrt(sum/float64(n)+eps)
				got := make([]float32, n)
				k.norm(got, x, w, eps)
				for i, v := range x {
					want := float64(v) * scale
					if w != nil {
						want *= float64(vectorAt(w, i))
					}
					wantNear(t, sized("norm of ", n), got[i], want, math.Abs(want), tolerance["norm"])
				}
			}
		}
	})
}

func TestNormOfZerosIsZero(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		x := make([]float32, 72)
		k.norm(x, x, nil, 1e-6)
		wantSameBits(t, "norm", x, make([]float32, 72))
	})
}

// activations covers the curved region densely and both tails.
func activations(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(12 * math.Sin(float64(3*i)))
	}
	copy(x, []float32{0, -100, 100, 1e-6, -1e-6, 1e4, -1e4, 0.5, -0.5, -1e37, 1e37})
	return x
}

func TestGEGLUEqualsItsFormula(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		for _, n := range lengths {
			gate, up := activations(n), randomFloats(seeded(sized("geglu ", n)), n, 1)
			got := append([]float32(nil), gate...)
			k.geglu(got, up)
			for i, g := range gate {
				x := float64(g)
				want := 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) * float64(up[i])
				wantNear(t, sized("geglu of ", g), got[i], want, math.Abs(x*float64(up[i])), tolerance["geglu"])
			}
		}
	})
}

func TestSoftcapEqualsItsFormula(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		for _, n := range lengths {
			x := activations(n)
			for i := range x {
				x[i] *= 5
			}
			got := append([]float32(nil), x...)
			k.softcap(got, 30)
			for i, v := range x {
				wantNear(t, sized("softcap of ", v), got[i], 30*math.Tanh(float64(v)/30), 30, tolerance["softcap"])
			}
		}
	})
}

func TestExpSumEqualsExponentials(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		for _, n := range lengths {
			x := make([]float32, n)
			for i := range x {
				x[i] = 7 - float32(i)*float32(i)*0.37
			}
			got := append([]float32(nil), x...)
			sum := k.expSum(got, 7)
			var want float64
			for i, v := range x {
				e := math.Exp(float64(v - 7))
				want += e
				if e > 1e-37 { // below, results may be flushed to zero
					wantNear(t, sized("exp of ", v-7), got[i], e, e, tolerance["exp"])
				} else if got[i] < 0 || got[i] > 2e-37 {
					t.Fatalf("exp of %g is %g", v-7, got[i])
				}
			}
			wantNear(t, sized("sum of ", n), sum, want, want, tolerance["norm"])
		}
	})
}

func TestCombineAndMaximum(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		for _, n := range lengths {
			r := seeded(sized("add ", n))
			x, y := randomFloats(r, n, 1), randomFloats(r, n, 1)
			got := append([]float32(nil), y...)
			k.combine(got, 0.5, -0.75, x)
			for i := range x {
				wantNear(t, "sum", got[i], 0.5*float64(y[i])-0.75*float64(x[i]), 1+math.Abs(float64(y[i])), tolerance["norm"])
			}
			if got, want := k.maximum(x), slices.Max(x); got != want {
				t.Fatalf("maximum of %d is %g, want %g", n, got, want)
			}
		}
	})
}

func TestHalfRoundsAsDefined(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		for _, n := range lengths {
			x := randomFloats(seeded(sized("half ", n)), n, 100)
			copy(x, []float32{0, 1e-7, -6e-8, 65504, 65519, 65520, -1e30, 1 + 1.0/2048, 1 + 3.0/2048})
			got := guarded(2 * n)
			k.half(got, x)
			for i, v := range x {
				if h := uint16(got[2*i]) | uint16(got[2*i+1])<<8; h != bf16.HalfBits(v) {
					t.Fatalf("half of %g is %#x, want %#x", v, h, bf16.HalfBits(v))
				}
			}
		}
	})
}

func TestRotationFollowsTheFrequencies(t *testing.T) {
	for _, c := range []struct {
		name       string
		theta      float64
		dim, pairs int
	}{
		{"sliding turns every pair", 10000, 256, 128},
		{"full turns the first pairs only", 1e6, 512, 64},
		{"a tower axis of odd half", 100, 36, 18},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a arena
			table := newRopeTable(&a, c.theta, c.dim, c.pairs, 4)
			if err := a.alloc("test"); err != nil {
				t.Fatal(err)
			}
			defer a.region.Close()
			table.fill(1000, 4)
			x := randomFloats(seeded(c.name), c.dim, 1)
			got := append([]float32(nil), x...)
			table.rotate(got, 3)
			for i := range c.dim / 2 {
				var f float64
				if i < c.pairs {
					f = math.Pow(c.theta, -float64(2*i)/float64(c.dim))
				}
				z := complex(float64(x[i]), float64(x[i+c.dim/2])) * complex(math.Cos(1003*f), math.Sin(1003*f))
				wantNear(t, "real", got[i], real(z), 1, 1e-4) // the angle is a float32 product
				wantNear(t, "imaginary", got[i+c.dim/2], imag(z), 1, 1e-4)
			}
		})
	}
}

func TestFrequenciesHitTheirAnchors(t *testing.T) {
	var a arena
	sliding, full := newRopeTable(&a, 1e4, 256, 128, 1), newRopeTable(&a, 1e6, 512, 64, 1)
	for _, c := range []struct {
		table *ropeTable
		i     int
		want  float32
	}{
		{sliding, 1, 0.93057203}, {sliding, 2, 0.86596435}, {sliding, 64, 0.0099999998}, {sliding, 127, 1.0746079e-4},
		{full, 1, 0.94746351}, {full, 32, 0.17782794}, {full, 63, 0.033376247},
	} {
		if got := c.table.freqs[c.i]; math.Abs(float64(got-c.want)) > 1e-7*float64(c.want) {
			t.Errorf("frequency %d is %.9g, want %.9g", c.i, got, c.want)
		}
	}
}
