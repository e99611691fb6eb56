package synth

import (
	"crypto/sha256"
	"encoding/binary"
)

// The random words of a tensor t:
//
//	seed(t)    = the first 8 bytes of SHA-256(t), little-endian
//	word(t, i) = mix(seed(t) + (i+1)*golden)
//	unit(t, i) = float32(word(t, i) >> 40) * 2^-24, in [0, 1), exact
//
// This is SplitMix64 with a seed per tensor and random access (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, 2014).
const golden = 0x9E3779B97F4A7C15

func mix(z uint64) uint64 {
	z ^= z >> 30
	z *= 0xBF58476D1CE4E5B9
	z ^= z >> 27
	z *= 0x94D049BB133111EB
	return z ^ z>>31
}

func seed(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.LittleEndian.Uint64(sum[:])
}

// word returns word(t, i) of the tensor with this seed.
func word(seed, i uint64) uint64 { return mix(seed + (i+1)*golden) }

func unit(word uint64) float32 { return float32(word>>40) * 0x1p-24 }
