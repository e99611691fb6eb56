package cpu

import (
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// roundedTo8 is a group of activations as the int8 sets see it.
func roundedTo8(x []float32) []float64 {
	largest := float32(1e-30)
	for _, v := range x {
		largest = max(largest, v, -v)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		steps := float32(v * (127 / largest))
		y[i] = math.RoundToEven(float64(steps)) * float64(largest/127)
	}
	return y
}

// centred is the product of an output with rounded activations where weights differ from their group's centre, code 8,
// and with the activations as they are for the centre.
func centred(w core.Affine, o int, x []float32) (sum, magnitude float64) {
	for g := range w.In / groupSize {
		exact := x[g*groupSize:][:groupSize]
		scale := float64(vectorAt(w.Scales, o*w.In/groupSize+g))
		centre := 8*scale + float64(vectorAt(w.Biases, o*w.In/groupSize+g))
		for i, rounded := range roundedTo8(exact) {
			terms := [2]float64{(weight(w, o, g*groupSize+i) - centre) * rounded, centre * float64(exact[i])}
			sum += terms[0] + terms[1]
			magnitude += math.Abs(terms[0]) + math.Abs(terms[1])
		}
	}
	return sum, magnitude
}

// TestInt8ProductsAreExactButForTheRoundedActivations covers magnitudes that differ from group to group, a group of
// zeros and one of a single spike, at the extremes of both factors.
func TestInt8ProductsAreExactButForTheRoundedActivations(t *testing.T) {
	eachSet(t, func(t *testing.T, k *kernelSet) {
		if rounding(k) != "int8" {
			return
		}
		for _, groups := range []int{1, 2, 7, 8, 9, 11, 33} {
			for _, rows := range []int{1, 2, 3, 4, 35} {
				name := sized("int8 ", groups, " groups, rows ", rows)
				r := seeded(name)
				in, out := groups*groupSize, 29
				w := randomAffine(r, out, in, 4)
				for i := range in / 2 {
					w.Codes[i] = 0xff
				}
				x := randomFloats(r, rows*in, 1)
				for i := range x {
					x[i] *= float32(math.Exp2(float64(i / groupSize % 5 * 8)))
				}
				clear(x[(rows*groups-1)*groupSize:])
				x[len(x)-groupSize/2] = -3
				for i := range groupSize { // sums of 16 bits reach their limits
					x[i] = 1
				}
				y := affineProduct(k, w, x, 0, out)
				for row := range rows {
					for o := range out {
						sum, magnitude := centred(w, o, x[row*in:][:in])
						wantNear(t, name, y[row*out+o], sum, magnitude, tolerance["affine"])
					}
				}
			}
		}
	})
}
