// Package bf16 converts between float32 and the two 16-bit formats of the files: bfloat16 (weights) and IEEE half
// (the KV cache). It holds definitions only; fast paths live with the backend that needs them and are held to these.
package bf16

import "math"

// Float32 widens a bfloat16; exact.
func Float32(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// Bits rounds f to the nearest bfloat16, ties to even. A NaN stays one (quiet); what lies beyond the largest finite
// value rounds to infinity.
func Bits(f float32) uint16 {
	u := math.Float32bits(f)
	if u&0x7fffffff > 0x7f800000 {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// Decode widens the little-endian bfloat16 of src, two bytes each, to dst. src may have any alignment and holds at
// least 2*len(dst) bytes.
func Decode(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(src[2*i])<<16 | uint32(src[2*i+1])<<24)
	}
}
