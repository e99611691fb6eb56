//go:build !noasm

package cpu

import (
	"math"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

func TestArmProcessorsGetTheSetsOfTheirFeatures(t *testing.T) {
	for _, c := range []struct {
		dot, matrix, bf16 bool
		want              []string
	}{
		{want: []string{"neon"}},
		{bf16: true, want: []string{"neon"}},
		{dot: true, want: []string{"neon-int16", "neon"}},
		{dot: true, bf16: true, want: []string{"neon-int16", "neon"}},
		{dot: true, matrix: true, want: []string{"neon-i8mm", "neon-int16", "neon"}},
		{dot: true, matrix: true, bf16: true, want: []string{"neon-bf16", "neon-i8mm", "neon-int16", "neon"}},
	} {
		var got []string
		for _, k := range armKernels(c.dot, c.matrix, c.bf16) {
			got = append(got, k.name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// ifHere skips what this processor cannot run: the processors without matrix instructions are tested too.
func ifHere(t *testing.T, k *kernelSet) {
	t.Helper()
	if namedSet(k.name) == nil {
		t.Skipf("this processor has %v", KernelSets())
	}
}

func TestMatrixAndDotProductsHaveTheSameBits(t *testing.T) {
	ifHere(t, neonMatrixKernels)
	for _, groups := range []int{1, 5, 11, 44, 128} {
		for _, rows := range []int{1, 2, 3, 5, 33} {
			for _, outputs := range []int{1, 2, 3, 4, 19, 32} {
				in := groups * groupSize
				name := sized("matrix ", groups, rows, outputs)
				r := seeded(name)
				w := randomAffine(r, outputs, in, 4)
				x := randomFloats(r, rows*in, 2)
				wantSameBits(t, name, affineProduct(neonMatrixKernels, w, x, 0, outputs), affineProduct(neonDotKernels, w, x, 0, outputs))
			}
		}
	}
}

// splitGroup rounds x and returns each element's integer.
func splitGroup(x []float32) (n []int, scale, sum float32) {
	const limit = 127*256 + 127
	largest := float32(1e-30)
	for _, v := range x {
		largest = max(largest, v, -v)
	}
	inverse := limit / largest
	total := 0
	for _, v := range x {
		n = append(n, int(math.RoundToEven(float64(v*inverse))))
		total += n[len(n)-1]
	}
	return n, largest / limit, largest / limit * float32(total)
}

func TestDigitsAddUpToTheRoundedActivations(t *testing.T) {
	const groups = 11
	r := seeded("digits")
	x := randomFloats(r, groups*groupSize, 1)
	clear(x[3*groupSize:][:groupSize]) // all zeros
	x[5*groupSize] = 1e4               // an outlier
	x[7*groupSize+63] = -1e-20
	for i := range groupSize {
		x[8*groupSize+i] *= 1e-35 // below the least scale
	}
	at := func(i int) int { return i/32*32 + i%2*16 + i%32/2 } // where element i stands among its group's digits
	for _, k := range []struct {
		set       *kernelSet
		high, low func(i int) int
	}{
		{neonDotKernels, at, func(i int) int { return groupSize + at(i) }},
		{neonMatrixKernels, func(i int) int { return at(i)/8*16 + at(i)%8 },
			func(i int) int { return at(i)/8*16 + 8 + at(i)%8 }},
	} {
		packed, _ := packRows(k.set, x, len(x), 4)
		digits := byteView(packed)
		for g := range groups {
			n, scale, sum := splitGroup(x[g*groupSize:][:groupSize])
			of := digits[2*groupSize*g:][:2*groupSize]
			for i, want := range n {
				if got := int(int8(of[k.high(i)]))*256 + int(int8(of[k.low(i)])); got != want {
					t.Fatalf("%s: group %d, element %d: digits of %d, want %d", k.set.name, g, i, got, want)
				}
			}
			wantSameBits(t, k.set.name+": scale and sum", []float32{packed[len(x)/2+g], packed[len(x)+g]}, []float32{scale, sum})
		}
	}
}

func TestTwoPartsKeepSeventeenBits(t *testing.T) {
	ifHere(t, neonBF16Kernels)
	x := append(randomFloats(seeded("parts"), 62, 1e3), 0, 1.00390625) // the last lies between two bfloat16
	packed := slices.Clone(x)
	neonBF16Pack(packed)
	parts := byteView(packed)
	for i, v := range x {
		first := vectorAt(parts, i/4*8+i%4)
		second := vectorAt(parts, i/4*8+4+i%4)
		wantSameBits(t, sized("element ", i), []float32{first, second},
			[]float32{bf16.Float32(bf16.Bits(v)), bf16.Float32(bf16.Bits(v - bf16.Float32(bf16.Bits(v))))})
		wantNear(t, sized("element ", i), first+second, float64(v), math.Abs(float64(v)), 1.0/(1<<17))
	}
}
