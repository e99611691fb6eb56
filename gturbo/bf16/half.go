package bf16

import "math"

// HalfFloat32 widens an IEEE half; exact.
func HalfFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	rest := uint32(h & 0x7fff)
	switch {
	case rest >= 0x7c00: // infinity, NaN
		return math.Float32frombits(sign | 0x7f800000 | (rest&0x3ff)<<13)
	case rest < 0x400: // subnormal: rest * 2^-24, and float32 holds it exactly
		return math.Float32frombits(sign | math.Float32bits(float32(rest)*0x1p-24))
	}
	return math.Float32frombits(sign | (rest<<13 + (127-15)<<23))
}

// HalfBits rounds f to the nearest IEEE half, ties to even. From 65520 on it is infinity; a NaN stays one (quiet).
func HalfBits(f float32) uint16 {
	u := math.Float32bits(f)
	sign := uint16(u >> 16 & 0x8000)
	u &= 0x7fffffff
	switch {
	case u > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(u>>13&0x3ff)
	case u >= 0x477ff000: // 65520
		return sign | 0x7c00
	case u < 0x38800000: // below 2^-14: adding 0.5 leaves round(f / 2^-24) in the low bits, rounded by the hardware
		return sign | uint16(math.Float32bits(math.Float32frombits(u)+0.5)-0x3f000000)
	}
	u += 0xfff + u>>13&1
	return sign | uint16(u>>13-(127-15)<<10)
}
