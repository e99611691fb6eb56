//go:build !noasm

package cpu

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// machineKernels is the one place that asks what an Arm processor has. Every 64-bit one has NEON.
func machineKernels() []*kernelSet {
	matrix, bf16 := matrixFeatures()
	return armKernels(cpu.ARM64.HasASIMDDP, matrix, bf16)
}

// armKernels are the sets for a processor with FEAT_DotProd, FEAT_I8MM and FEAT_BF16, fastest first.
func armKernels(dot, matrix, bf16 bool) []*kernelSet {
	sets := []*kernelSet{neonKernels}
	if dot {
		sets = append(sets, neonDotKernels)
	}
	if dot && matrix {
		sets = append(sets, neonMatrixKernels)
	}
	if dot && matrix && bf16 {
		sets = append(sets, neonBF16Kernels)
	}
	slices.Reverse(sets)
	return sets
}

// sumLanes is how many lanes a running sum of a product has.
const sumLanes = 4

// neonKernels needs what every 64-bit Arm processor has.
var neonKernels = &kernelSet{
	name:       "neon",
	pack:       neonPack,
	affine:     neonAffine,
	dense:      neonDense,
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

// scoresTiles are in order of preference.
var scoresTiles = []scoresTile{
	{2, simdScores2Half, simdScores2Float},
	{1, simdScores1Half, simdScores1Float},
}

// valuesTiles are in order of preference; maxValuesQueries is the most outputs of one.
var valuesTiles = []valuesTile{
	{2, 1, simdValues2x1Half, simdValues2x1Float},
	{1, 1, simdValues1x1Half, simdValues1x1Float},
}

const maxValuesQueries = 2

// neonPack orders the activations as the codes come out of their registers: part k of a register holds nibble k (byte
// k) of its four dwords, scaled by 16^k (256^k) but for the last.
func neonPack(dst, x []float32, bits int) {
	sums := dst[len(x):packedLen(len(x))]
	clear(sums)
	parts := 32 / bits
	var factors [8]float32
	for k := range parts {
		factors[k] = 1 / float32(uint32(1)<<(bits*k))
	}
	factors[parts-1] = 1
	for at := 0; at < len(x); at += 4 * parts {
		for i, v := range x[at:][:4*parts] {
			dst[at+i%parts*4+i/parts] = v * factors[i%parts]
		}
	}
	for g := range len(x) / groupSize {
		sums[g] = plainSum(x[g*groupSize:][:groupSize])
	}
}

func neonAffine(a affineCall) { affineRows(a, 0, nil, simdPanel) }
