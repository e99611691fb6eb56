package cpu

import "github.com/fieldfare/fieldfare/core"

// A kernelSet holds the inner loops of one instruction set. The plain bodies, each in the file of its operation, are
// the definitions; another set may sum in another order, but always in one that depends on the element alone: not on
// lo and hi, nor on how many rows a call has.
type kernelSet struct {
	name string
	// rounds tells that 4-bit products round activations, to 8 bits when the name says so, else to 16, and perhaps bf16
	// products to 17. See loss_test.go and tower_loss_test.go for what that costs.
	rounds bool
	// fine, when not nil, is the set that takes this one's place where rounding shows most: the head, which memory bounds,
	// the second matrix of each branch (attention's output, the FFN's down), whose input has outliers, and the tower's
	// projection.
	fine *kernelSet

	// pack prepares one row of activations for affine products: affine.go.
	pack func(dst, x []float32, bits int)
	// affine computes products with a quantized matrix: affine.go.
	affine func(a affineCall)
	// packDense prepares one row of activations for dense, in place: dense.go. nil leaves rows as they are.
	packDense func(x []float32)
	// dense computes products with a bf16 matrix: dense.go.
	dense func(a denseCall)
	// outer, when not nil, computes products with float32 panels: outer.go. A tower then keeps its keys and values in
	// panels: tower_panels.go.
	outer func(o outerCall)

	// scores and values are the two products of attention: attention.go.
	scores func(a attentionCall)
	values func(a attentionCall)
	// expSum replaces p by exp(p-shift) and returns the sum: attention.go.
	expSum func(p []float32, shift float32) float32
	// half rounds x to FP16: kvcache.go.
	half func(dst []byte, x []float32)

	// meanSquare and scaleNorm make RMSNorm: rmsnorm.go.
	meanSquare func(x []float32) float32
	scaleNorm  func(dst, x []float32, scale float32, w core.Vector)
	// geglu replaces gate by gelu(gate)*up: geglu.go.
	geglu func(gate, up []float32)
	// softcap replaces x by limit*tanh(x/limit): head.go.
	softcap func(x []float32, limit float32)
	// combine replaces dst by a*dst + b*x: vector.go.
	combine func(dst []float32, a, b float32, x []float32)
	// maximum returns the largest of x, which is not empty: vector.go.
	maximum func(x []float32) float32
}

// plainKernels is the definition in Go, for every machine.
var plainKernels = &kernelSet{
	name:       "plain",
	pack:       plainPack,
	affine:     plainAffine,
	dense:      plainDense,
	scores:     plainScores,
	values:     plainValues,
	expSum:     plainExpSum,
	half:       plainHalf,
	meanSquare: plainMeanSquare,
	scaleNorm:  plainScaleNorm,
	geglu:      plainGEGLU,
	softcap:    plainSoftcap,
	combine:    plainCombine,
	maximum:    plainMaximum,
}

// finer is the set for what a set leaves to its fine one.
func (k *kernelSet) finer() *kernelSet {
	if k.fine != nil {
		return k.fine
	}
	return k
}

// kernelSets holds what this build and this machine can run, fastest first.
var kernelSets = append(machineKernels(), plainKernels)
