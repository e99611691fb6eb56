package synth

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// All arithmetic below is float32, rounded after each operation in the order written: products that feed a sum are
// converted, which forbids the compiler to fuse them (it does so on arm64).

// A fill writes the elements from index lo on of one tensor to dst, little-endian. len(dst) is a multiple of the
// element's size.
type fill func(dst []byte, lo uint64)

// codes fills packed quantized weights: the low 32 bits of each word.
func codes(name string) fill {
	s := seed(name)
	return func(dst []byte, lo uint64) {
		z := s + lo*golden
		for ; len(dst) >= 4; dst = dst[4:] {
			z += golden
			binary.LittleEndian.PutUint32(dst, uint32(mix(z)))
		}
	}
}

// halves fills bf16 elements computed one by one.
func halves(value func(i uint64) float32) fill {
	return func(dst []byte, lo uint64) {
		for i := lo; len(dst) >= 2; i, dst = i+1, dst[2:] {
			binary.LittleEndian.PutUint16(dst, bf16.Bits(value(i)))
		}
	}
}

// A module is a quantized matrix [out, in], or a stack of them: packed codes, and a scale and a bias per 64 inputs.
type module struct {
	name     string
	in, bits int
	uneven   bool // rows differ in size, so that some experts are chosen far more often
}

// deviation is the standard deviation of a uniform code, centre its mean, by bits.
var (
	deviation = map[int]float32{4: 4.6097722, 8: 73.900383}
	centre    = map[int]float32{4: 7.5, 8: 127.5}
)

func (m module) scales() fill { return m.groups(func(s uint16) uint16 { return s }) }

// biases centre the codes: -c*s with the rounded scale.
func (m module) biases() fill {
	c := centre[m.bits]
	return m.groups(func(s uint16) uint16 { return bf16.Bits(-c * bf16.Float32(s)) })
}

// groups fills one bf16 element per group, made from the group's scale. Scales make the products of unit inputs of
// unit size; half of them are negative.
func (m module) groups(element func(scale uint16) uint16) fill {
	words, gains, columns := seed(m.name+".scales"), seed(m.name+".gain"), uint64(m.in/64)
	norm := deviation[m.bits] * float32(math.Sqrt(float64(m.in)))
	return func(dst []byte, lo uint64) {
		z := words + lo*golden
		for len(dst) >= 2 {
			row := lo / columns
			n := min((row+1)*columns-lo, uint64(len(dst)/2))
			gain := float32(1)
			if m.uneven {
				gain = unevenGain(gains, row)
			}
			amp := gain / norm
			for i := range n {
				z += golden
				w := mix(z)
				v := amp * (0.75 + float32(0.5*unit(w)))
				v = math.Float32frombits(math.Float32bits(v) ^ uint32(w&1)<<31)
				binary.LittleEndian.PutUint16(dst[2*i:], element(bf16.Bits(v)))
			}
			dst, lo = dst[2*n:], lo+n
		}
	}
}

// unevenGain is the gain of a row of a router.
func unevenGain(seed, row uint64) float32 {
	u := unit(word(seed, row))
	return 0.6 + float32(1.8*float32(u*u))
}

// plain fills an unquantized tensor. Which formula holds follows from name and rank, as in the recipe.
func plain(name string, shape []int64) fill {
	s := seed(name)
	value := func(f func(u float32) float32) fill {
		return halves(func(i uint64) float32 { return f(unit(word(s, i))) })
	}
	switch {
	case strings.HasSuffix(name, "layer_scalar"):
		return value(func(u float32) float32 { return 0.8 + float32(0.2*u) })
	case strings.HasSuffix(name, "router.scale"):
		return value(func(u float32) float32 { return 0.9 + float32(0.2*u) })
	case strings.HasSuffix(name, "position_embedding_table"):
		return value(func(u float32) float32 { return (u - 0.5) * 0.2 })
	case strings.HasSuffix(name, "std_bias"):
		return value(func(u float32) float32 { return (u - 0.5) * 0.1 })
	case strings.HasSuffix(name, "std_scale"):
		return value(func(u float32) float32 { return 0.5 + u })
	case len(shape) == 2:
		root := float32(math.Sqrt(float64(shape[1])))
		return value(func(u float32) float32 { return float32((u-0.5)*3.4641016) / root })
	case strings.HasSuffix(name, "q_norm.weight"), strings.HasSuffix(name, "k_norm.weight"):
		// keeps attention soft: with unit norms a random model amplifies rounding without bound
		root := float32(math.Pow(float64(shape[0]), -0.25))
		return value(func(u float32) float32 { return (0.75 + float32(0.5*u)) * root })
	}
	return value(func(u float32) float32 { return 0.75 + float32(0.5*u) })
}
