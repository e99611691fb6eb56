//go:build !noasm

package cpu

import (
	"math"
	"testing"
)

func TestOuterProductsEqualDotProducts(t *testing.T) {
	if avx2Kernels != namedSet("avx2") {
		t.Skip("this processor has no AVX2")
	}
	for _, depth := range []int{1, 7, 8, 9, 72, 256} {
		for _, rows := range []int{1, 3, 4, 5, 48} {
			for _, add := range []bool{false, true} {
				const ldy = outerOutputs + 5
				name := sized("depth ", depth, " rows ", rows, " add ", add)
				r := seeded(name)
				ldx := depth + 3
				o := outerCall{
					y: randomFloats(r, (rows-1)*ldy+outerOutputs, 10), ldy: ldy, add: add,
					x: randomFloats(r, (rows-1)*ldx+depth, 1), ldx: ldx, rows: rows,
					w: floatView(guarded(4 * depth * outerOutputs)), depth: depth,
				}
				copy(o.w, randomFloats(r, len(o.w), 1))
				before := append([]float32(nil), o.y...)
				avx2Outer(o)
				for i, got := range o.y {
					row, output := i/ldy, i%ldy
					if output >= outerOutputs {
						wantSameBits(t, name+", between rows", o.y[i:i+1], before[i:i+1])
						continue
					}
					var sum, magnitude float64
					if add {
						sum, magnitude = float64(before[i]), math.Abs(float64(before[i]))
					}
					for k := range depth {
						term := float64(o.x[row*ldx+k]) * float64(o.w[k*outerOutputs+output])
						sum += term
						magnitude += math.Abs(term)
					}
					wantNear(t, sized(name, ", row ", row, ", output ", output), got, sum, magnitude, tolerance["dense"])
				}
			}
		}
	}
}
