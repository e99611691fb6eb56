package metal

import (
	"math"

	"github.com/fieldfare/fieldfare/gturbo/bf16"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// A kvBuffer holds keys or values as f16 or f32.
type kvBuffer struct {
	buffer driver.Buffer
	half   bool
}

func (c *checker) kv(n int, half bool) kvBuffer {
	size := 4 * n
	if half {
		size = 2 * n
	}
	return kvBuffer{c.buffer(size), half}
}

func (b kvBuffer) at(i int) float64 {
	if !b.half {
		return float64(floats(b.buffer)[i])
	}
	p := b.buffer.Bytes()[2*i:]
	return float64(bf16.HalfFloat32(uint16(p[0]) | uint16(p[1])<<8))
}

func (b kvBuffer) put(i int, v float64) {
	if !b.half {
		floats(b.buffer)[i] = float32(v)
		return
	}
	bits := bf16.HalfBits(float32(v))
	b.buffer.Bytes()[2*i], b.buffer.Bytes()[2*i+1] = byte(bits), byte(bits>>8)
}

// checkHeads stores across the end of a ring.
func checkHeads(c *checker, variant string) {
	c.limit = 3e-6
	half := variant == "f16"
	if half {
		c.limit = 6e-4 // a step of FP16
	}
	const rows, pos = 3, 100_003
	heads, kvHeads, width := c.size(3, 16), c.size(2, 8), c.size(64, 256)
	pairs := width / 4
	stride := (heads + 2*kvHeads) * width
	w := c.tensors(4 * width)
	p := shaders.HeadsParams{
		Heads: u32(heads), KVHeads: u32(kvHeads), Width: u32(width), Pairs: u32(pairs), Stride: u32(stride),
		KeyAt: u32(heads * width), ValueAt: u32((heads + kvHeads) * width), Pos: pos, KVRows: 5, Eps: checkEps,
	}
	var queryNorm, keyNorm []float64
	p.QueryNorm, queryNorm = w.vector(width, 1, 0.3)
	p.KeyNorm, keyNorm = w.vector(width, 1, 0.3)
	qkv, x := c.random(rows*stride, 2)
	input := append([]float32(nil), x...)
	keys, values := c.kv(5*kvHeads*width, half), c.kv(5*kvHeads*width, half)
	turn := c.buffer(8 * rows * pairs)
	freqs := frequencies(1e6, width, pairs)
	fillTurns(floats(turn), freqs, pos, rows)
	c.run(c.k, driver.D2(ceil(heads+2*kvHeads, shaders.HeadSimds), rows), in(w.buffer), in(turn), in(qkv),
		in(keys.buffer), in(values.buffer), inBytes(shaders.Bytes(&p)))
	for r := range rows {
		slot := (pos + r) % 5
		for h := range heads + 2*kvHeads {
			from := input[r*stride+h*width:][:width]
			switch {
			case h < heads:
				for i, v := range turned(rms(from, queryNorm, checkEps), freqs, pos+r) {
					c.near(x[r*stride+h*width+i], v, 4)
				}
			case h < heads+kvHeads:
				for i, v := range turned(rms(from, keyNorm, checkEps), freqs, pos+r) {
					c.near(float32(keys.at((slot*kvHeads+h-heads)*width+i)), v, 4)
				}
			default:
				for i, v := range rms(from, nil, checkEps) {
					c.near(float32(values.at((slot*kvHeads+h-heads-kvHeads)*width+i)), v, 4)
				}
			}
		}
	}
}

// turned rotates pairs (i, i+half) by the float32 angle of a position.
func turned(x []float64, freqs []float32, pos int) []float64 {
	half := len(x) / 2
	for i, f := range freqs {
		s, c := math.Sincos(float64(float32(pos) * f))
		x[i], x[i+half] = x[i]*c-x[i+half]*s, x[i+half]*c+x[i]*s
	}
	return x
}
