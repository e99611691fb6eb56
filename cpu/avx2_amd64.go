//go:build !noasm

package cpu

// sumLanes is how many lanes a running sum of a product has.
const sumLanes = 8

// avx2Kernels needs AVX2, FMA and F16C. The assembly handles whole registers; the wrappers here bring everything else
// into that form.
var avx2Kernels = &kernelSet{
	name:       "avx2",
	pack:       avx2Pack,
	affine:     avx2Affine,
	dense:      avx2Dense,
	outer:      avx2Outer,
	scores:     simdScores,
	values:     simdValues,
	expSum:     simdExpSumOf,
	half:       simdHalfOf,
	meanSquare: simdMeanSquare,
	scaleNorm:  simdScaleNormOf,
	geglu:      simdGEGLUOf,
	softcap:    simdSoftcapOf,
	combine:    simdCombineOf,
	maximum:    simdMaximum,
}

// avx2Pack orders the activations as the codes come out of their registers: internal/asm/affine.go.
func avx2Pack(dst, x []float32, bits int) {
	groups := len(x) / groupSize
	sums := dst[len(x):packedLen(len(x))]
	clear(sums)
	if bits == 4 {
		avx2Pack4(&dst[0], &sums[0], &x[0], groups)
		return
	}
	// Part k of register r holds bytes k of its dwords, scaled by 256^k but for the last.
	factors := [4]float32{1, 1.0 / 256, 1.0 / 65536, 1}
	for g := range groups {
		from, to := x[g*groupSize:][:groupSize], dst[g*groupSize:][:groupSize]
		for i, v := range from {
			to[i&^31+i%4*8+i%32/4] = v * factors[i%4]
		}
		sums[g] = plainSum(from)
	}
}

// avx2Affine streams the codes once for one row. For more rows it unpacks panels of outputs and multiplies tiles, with
// the same order of operations per element.
func avx2Affine(a affineCall) { affineRows(a, 2, avx2OneRow, simdPanel) }

// leftover is the first of the last 8 groups when they are not a whole number of blocks, else -1.
func leftover(groups int) int {
	if groups%8 == 0 {
		return -1
	}
	return groups - 8
}

func avx2OneRow(a affineCall) {
	groups := a.w.In / groupSize
	rowBytes := a.w.In * a.w.Bits / 8
	codes, scales, biases := a.w.Codes[a.lo*rowBytes:], a.w.Scales[2*a.lo*groups:], a.w.Biases[2*a.lo*groups:]
	if groups >= 8 {
		avx2Gemv(a.w.Bits, &a.y[0], &codes[0], &scales[0], &biases[0], &a.x[0], groups, groups/8, leftover(groups),
			a.hi-a.lo, &a.scratch[0])
		return
	}
	for o := range a.hi - a.lo { // less than a block: pad, so that nothing is read past the end
		var s, b [16]byte
		copy(s[:], scales[2*o*groups:][:2*groups])
		copy(b[:], biases[2*o*groups:][:2*groups])
		avx2Gemv(a.w.Bits, &a.y[o], &codes[o*rowBytes], &s[0], &b[0], &a.x[0], groups, 1, -1, 1, &a.scratch[0])
	}
}

// avx2Gemv calls the kernel of bits. A function value would make its arguments escape.
func avx2Gemv(bits int, y *float32, codes, scales, biases *byte, x *float32, groups, blocks, tail, outputs int,
	scratch *float32) {
	if bits == 8 {
		avx2Gemv8(y, codes, scales, biases, x, groups, blocks, tail, outputs, scratch)
		return
	}
	avx2Gemv4(y, codes, scales, biases, x, groups, blocks, tail, outputs, scratch)
}

// scoresTiles are in order of preference.
var scoresTiles = []scoresTile{
	{4, simdScores4Half, simdScores4Float},
	{2, simdScores2Half, simdScores2Float},
	{1, simdScores1Half, simdScores1Float},
}

// valuesTiles are in order of preference: the most outputs that there are, then the widest chunk that is left.
// maxValuesQueries is the most outputs of one.
var valuesTiles = []valuesTile{
	{4, 3, simdValues4x3Half, simdValues4x3Float},
	{4, 2, simdValues4x2Half, simdValues4x2Float},
	{4, 1, simdValues4x1Half, simdValues4x1Float},
	{2, 4, simdValues2x4Half, simdValues2x4Float},
	{2, 1, simdValues2x1Half, simdValues2x1Float},
	{1, 4, simdValues1x4Half, simdValues1x4Float},
	{1, 1, simdValues1x1Half, simdValues1x1Float},
}

const maxValuesQueries = 4
