package cpu

import (
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// packRows packs rows of x, [rows, in].
func packRows(k *kernelSet, x []float32, in, bits int) (packed []float32, ldx int) {
	ldx = packedLen(in)
	packed = make([]float32, len(x)/in*ldx)
	for r := range len(x) / in {
		k.pack(packed[r*ldx:][:ldx], x[r*in:][:in], bits)
	}
	return packed, ldx
}

func affineProduct(k *kernelSet, w core.Affine, x []float32, lo, hi int) []float32 {
	packed, ldx := packRows(k, x, w.In, w.Bits)
	rows := len(x) / w.In
	y := make([]float32, rows*(hi-lo))
	k.affine(affineCall{
		w: w, lo: lo, hi: hi, x: packed, ldx: ldx, rows: rows, y: y, ldy: hi - lo,
		scratch: make([]float32, scratchLen(w.In)),
	})
	return y
}

func TestAffineEqualsDequantizedDotProducts(t *testing.T) {
	eachSetBy(t, affineOf, func(t *testing.T, k *kernelSet) {
		for _, groups := range []int{1, 2, 3, 5, 7, 8, 9, 11, 33, 44} {
			for _, bits := range []int{4, 8} {
				for _, rows := range []int{1, 2, 3, 7, 33} {
					in, out := groups*groupSize, 13
					name := sized("affine ", groups, bits, rows)
					r := seeded(name)
					w := randomAffine(r, out, in, bits)
					x := randomFloats(r, rows*in, 1)
					y := affineProduct(k, w, x, 0, out)
					for row := range rows {
						for o := range out {
							var sum, magnitude float64
							for i := range in {
								term := weight(w, o, i) * float64(x[row*in+i])
								sum += term
								magnitude += math.Abs(term)
							}
							wantNear(t, name, y[row*out+o], sum, magnitude, tolerated("affine", k))
						}
					}
				}
			}
		}
	})
}

func TestAffineBitsDoNotDependOnRowsOrRange(t *testing.T) {
	eachSetBy(t, affineOf, func(t *testing.T, k *kernelSet) {
		for _, bits := range []int{4, 8} {
			for _, groups := range []int{1, 3, 11, 33, 44} {
				in, out, rows := groups*groupSize, 37, 128
				r := seeded(sized("bits ", bits, groups))
				w := randomAffine(r, out, in, bits)
				x := randomFloats(r, rows*in, 3)
				all := affineProduct(k, w, x, 0, out)
				for _, n := range []int{1, 2, 3, 4, 7, 33} {
					part := affineProduct(k, w, x[in:(1+n)*in], 0, out)
					wantSameBits(t, sized(bits, " bits, rows ", n), part, all[out:(1+n)*out])
				}
				for _, span := range [][2]int{{0, 1}, {1, 6}, {5, 37}, {36, 37}} {
					part := affineProduct(k, w, x[:in], span[0], span[1])
					wantSameBits(t, sized(bits, " bits, outputs ", span), part, all[span[0]:span[1]])
				}
			}
		}
	})
}

func TestAffineOfZerosIsZero(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		w := randomAffine(seeded("zeros"), 9, 192, 4)
		for i, y := range affineProduct(k, w, make([]float32, 192), 0, 9) {
			if y != 0 {
				t.Fatalf("output %d is %g", i, y)
			}
		}
	})
}

// FuzzAffine holds every kernel set against float64 on arbitrary codes, scales, shapes and addresses.
func FuzzAffine(f *testing.F) {
	f.Add(uint64(1), uint8(44), uint8(13), uint8(1), true)
	f.Add(uint64(2), uint8(1), uint8(1), uint8(2), false)
	f.Add(uint64(3), uint8(11), uint8(5), uint8(7), true)
	f.Fuzz(func(t *testing.T, seed uint64, groups, out, rows uint8, four bool) {
		defer releaseGuarded()
		bits, in := 8, (int(groups)%48+1)*groupSize
		if four {
			bits = 4
		}
		outputs, n := int(out)%20+1, int(rows)%40+1
		r := seeded(sized(seed))
		w := randomAffine(r, outputs, in, bits)
		x := randomFloats(r, n*in, math.Exp(r.NormFloat64()*3))
		o, row := r.IntN(outputs), r.IntN(n)
		var sum, magnitude float64
		for i := range in {
			term := weight(w, o, i) * float64(x[row*in+i])
			sum += term
			magnitude += math.Abs(term)
		}
		for _, k := range kernelSets {
			y := affineProduct(k, w, x, 0, outputs)
			wantNear(t, k.name, y[row*outputs+o], sum, magnitude, tolerated("affine", k))
			alone := affineProduct(k, w, x[row*in:][:in], o, o+1)
			wantSameBits(t, k.name, alone, y[row*outputs+o:][:1])
		}
	})
}
