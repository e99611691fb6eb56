package cpu

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// groupSize is the number of weights that share a scale and a bias, along the input axis.
const groupSize = 64

// minScratch is scratch for panels of unpacked weights and their running sums, whatever the width.
const minScratch = 12 << 10

// An affineCall asks for y[r, o] = sum_i w[o, i] * x[r, i] with w = scale*code + bias:
//
//	y = sum over groups g of ( scale_g * sum_i code_i*x_i  +  bias_g * sum_i x_i )
//
// for outputs o in [lo, hi) and rows r in [0, rows).
type affineCall struct {
	w      core.Affine
	lo, hi int
	// x holds packed rows (kernelSet.pack), ldx elements apart, of at least packedLen(w.In) each.
	x         []float32
	ldx, rows int
	// y[r*ldy+o-lo] receives the result.
	y   []float32
	ldy int
	// scratch is the worker's own, at least scratchLen(w.In) elements.
	scratch []float32
}

// packedLen is the length of a packed row of in activations: the activations in the order that the kernel set wants
// them, then the sum of each group, then zeros up to a multiple of 8. A set that rounds may fill that space otherwise.
func packedLen(in int) int { return in + (in/groupSize+7)&^7 }

// scratchLen is what one worker needs for products with rows of in quantized weights.
func scratchLen(in int) int { return max(in, minScratch+in/8) }

// plainPack keeps the natural order.
func plainPack(dst, x []float32, _ int) {
	copy(dst, x)
	sums := dst[len(x):packedLen(len(x))]
	clear(sums)
	for g := range len(x) / groupSize {
		sums[g] = plainSum(x[g*groupSize:][:groupSize])
	}
}

func plainSum(x []float32) float32 {
	var a, b, c, d float32
	for ; len(x) >= 4; x = x[4:] {
		a += x[0]
		b += x[1]
		c += x[2]
		d += x[3]
	}
	return (a + b) + (c + d)
}

// plainAffine widens the codes of one output and takes its dot product with every row.
func plainAffine(a affineCall) {
	groups := a.w.In / groupSize
	codes := a.scratch[:a.w.In]
	for o := a.lo; o < a.hi; o++ {
		widenCodes(codes, a.w, o)
		scales := a.w.Scales[2*o*groups:][:2*groups]
		biases := a.w.Biases[2*o*groups:][:2*groups]
		for r := range a.rows {
			a.y[r*a.ldy+o-a.lo] = affineDot(codes, scales, biases, a.x[r*a.ldx:][:packedLen(a.w.In)])
		}
	}
}

// widenCodes writes the codes of output o as numbers. Low nibbles come first.
func widenCodes(dst []float32, w core.Affine, o int) {
	if w.Bits == 8 {
		for i, code := range w.Codes[o*w.In:][:w.In] {
			dst[i] = float32(code)
		}
		return
	}
	for i, pair := range w.Codes[o*w.In/2:][:w.In/2] {
		dst[2*i] = float32(pair & 15)
		dst[2*i+1] = float32(pair >> 4)
	}
}

// affineDot sums group after group. Never inlined: one compiled body serves every caller, so that a compiler that
// fuses multiply and add cannot do so in one place and not in another.
//
//go:noinline
func affineDot(codes []float32, scales, biases []byte, x []float32) float32 {
	sums := x[len(codes):]
	var y float32
	for g := range len(codes) / groupSize {
		q, v := codes[g*groupSize:][:groupSize], x[g*groupSize:][:groupSize]
		var a, b, c, d float32
		for i := 0; i < groupSize; i += 4 {
			a += q[i] * v[i]
			b += q[i+1] * v[i+1]
			c += q[i+2] * v[i+2]
			d += q[i+3] * v[i+3]
		}
		y += vectorAt(scales, g)*((a+b)+(c+d)) + vectorAt(biases, g)*sums[g]
	}
	return y
}

// vectorAt is element i of a bf16 vector.
func vectorAt(v []byte, i int) float32 { return bf16.Float32(uint16(v[2*i]) | uint16(v[2*i+1])<<8) }
