package synth

import (
	"encoding/binary"
	"math"

	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// widened turns the bf16 elements of f into F32 ones.
func widened(f fill) fill {
	return func(dst []byte, lo uint64) {
		narrow := make([]byte, len(dst)/2)
		f(narrow, lo)
		for i := range len(dst) / 4 {
			v := bf16.Float32(binary.LittleEndian.Uint16(narrow[2*i:]))
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	}
}

// rotations fills the divisors of the full layers' frequencies: 1 for pairs that rotate, and a number that stops the
// others.
func rotations(rotating int) fill {
	return func(dst []byte, lo uint64) {
		for i := lo; len(dst) > 0; i, dst = i+1, dst[4:] {
			v := float32(1)
			if i >= uint64(rotating) {
				v = 1e30
			}
			binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
		}
	}
}

// routerRows fills an F32 matrix of rows of in elements, some of them larger, so that some experts are chosen far more
// often: as often as in the synthetic checkpoint.
func routerRows(name string, in int) fill {
	words, gains := seed(name), seed(name+".gain")
	root := float32(math.Sqrt(float64(in)))
	return func(dst []byte, lo uint64) {
		for i := lo; len(dst) > 0; i, dst = i+1, dst[4:] {
			v := unevenGain(gains, i/uint64(in)) * float32((unit(word(words, i))-0.5)*3.4641016) / root
			binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
		}
	}
}

// q4Blocks fills Q4_0: a FP16 scale s and 32 codes q of 4 bits, worth s*(q-8). Scales make the products of unit inputs of
// unit size; half of them are negative, which centres the codes. 4.636809 is the root mean square of q-8.
func q4Blocks(name string, in int) fill {
	s := seed(name)
	amp := 1 / (4.636809 * float32(math.Sqrt(float64(in))))
	return func(dst []byte, lo uint64) {
		z := s + 3*lo*golden
		for ; len(dst) >= 18; dst = dst[18:] {
			z += golden
			w := mix(z)
			scale := bf16.HalfBits(amp*(0.75+float32(0.5*unit(w)))) | uint16(w&1)<<15
			binary.LittleEndian.PutUint16(dst, scale)
			for i := 2; i < 18; i += 8 {
				z += golden
				binary.LittleEndian.PutUint64(dst[i:], mix(z))
			}
		}
	}
}

// q6Blocks fills Q6_K: 128 bytes of low and 64 of high bits of 256 codes q of 6 bits, 16 signed bytes c that scale 16 codes
// each, and a FP16 scale s for all: worth s*c*(q-32). 18.479719 is the root mean square of q-32.
func q6Blocks(name string, in int) fill {
	const (
		words  = (128 + 64 + 16) / 8
		scales = 128 + 64
		middle = 64 // c is 48 to 79, positive or negative
	)
	seed := seed(name)
	all := bf16.HalfBits(1 / (18.479719 * middle * float32(math.Sqrt(float64(in)))))
	return func(dst []byte, lo uint64) {
		z := seed + words*lo*golden
		for ; len(dst) >= 210; dst = dst[210:] {
			for i := range words {
				z += golden
				binary.LittleEndian.PutUint64(dst[8*i:], mix(z))
			}
			for i := scales; i < scales+16; i++ {
				c := int8(middle - 16 + dst[i]&31)
				if dst[i]&128 != 0 {
					c = -c
				}
				dst[i] = byte(c)
			}
			binary.LittleEndian.PutUint16(dst[scales+16:], all)
		}
	}
}
