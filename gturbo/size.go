package gturbo

import (
	"math"
	"math/bits"
)

// maxFileSize bounds every offset, so that it fits the system's signed one.
const maxFileSize = math.MaxInt64

// mul returns a*b; ok is false when that overflows.
func mul(a, b uint64) (product uint64, ok bool) {
	high, low := bits.Mul64(a, b)
	return low, high == 0
}

// add returns a+b; ok is false when that overflows.
func add(a, b uint64) (sum uint64, ok bool) {
	sum, carry := bits.Add64(a, b, 0)
	return sum, carry == 0
}
