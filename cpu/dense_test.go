package cpu

import (
	"math"
	"slices"
	"testing"
)

func denseProduct(k *kernelSet, w []byte, x []float32, in, lo, hi int) []float32 {
	rows := len(x) / in
	y := make([]float32, rows*(hi-lo))
	if k.packDense != nil {
		x = slices.Clone(x)
		for r := range rows {
			k.packDense(x[r*in:][:in])
		}
	}
	k.dense(denseCall{
		w: w, in: in, lo: lo, hi: hi, x: x, ldx: in, rows: rows, y: y, ldy: hi - lo,
		scratch: make([]float32, denseScratchLen(in)),
	})
	return y
}

func TestDenseEqualsDotProducts(t *testing.T) {
	eachSetBy(t, denseOf, func(t *testing.T, k *kernelSet) {
		for _, in := range []int{8, 16, 72, 128, 520, 768, 1152, 4304} {
			for _, rows := range []int{1, 2, 5, 33} {
				const out = 29
				name := sized("dense ", in, rows)
				r := seeded(name)
				w := randomVector(r, out*in, 0, 1)
				x := randomFloats(r, rows*in, 1)
				y := denseProduct(k, w, x, in, 0, out)
				for row := range rows {
					for o := range out {
						var sum, magnitude float64
						for i := range in {
							term := float64(vectorAt(w, o*in+i)) * float64(x[row*in+i])
							sum += term
							magnitude += math.Abs(term)
						}
						wantNear(t, name, y[row*out+o], sum, magnitude, tolerated("dense", k))
					}
				}
			}
		}
	})
}

func TestDenseBitsDoNotDependOnRowsOrRange(t *testing.T) {
	eachSetBy(t, denseOf, func(t *testing.T, k *kernelSet) {
		for _, s := range []struct{ in, rows int }{{72, 64}, {1152, 64}, {4304, 64}, {264, 400}} {
			const out = 61
			in, rows := s.in, s.rows
			r := seeded(sized("dense bits ", in))
			w := randomVector(r, out*in, 0, 1)
			x := randomFloats(r, rows*in, 1)
			all := denseProduct(k, w, x, in, 0, out)
			for _, n := range []int{1, 2, 3, 7, 33} {
				wantSameBits(t, sized("rows ", n), denseProduct(k, w, x[in:(1+n)*in], in, 0, out), all[out:(1+n)*out])
			}
			wantSameBits(t, "outputs", denseProduct(k, w, x[:in], in, 5, 58), all[5:58])
		}
	})
}
