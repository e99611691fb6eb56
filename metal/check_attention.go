package metal

import (
	"fmt"
	"math"
	"strings"

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

// An attendCheck is a chunk of rows in the middle of a sequence, in a ring that wraps, with a span that sees ahead.
type attendCheck struct {
	rows, heads, kvHeads, width, pos, window, kvRows int

	p            shaders.AttendParams
	q            driver.Buffer
	query        []float32 // as it was
	keys, values kvBuffer
	ends         driver.Buffer
}

func (c *checker) attention(half bool, width int) *attendCheck {
	a := &attendCheck{rows: 5, heads: 4, kvHeads: 2, width: width, pos: 70, window: 75, kvRows: 90}
	if c.full {
		a.heads, a.kvHeads, a.pos, a.window, a.kvRows = 16, 8, 1100, 1024, 1030
		if width == 512 {
			a.kvHeads, a.window, a.kvRows = 2, 0, 1200
		}
	}
	stride := a.heads*width + 4
	a.p = shaders.AttendParams{
		Rows: u32(a.rows), KVHeads: u32(a.kvHeads), Group: u32(a.heads / a.kvHeads), Stride: u32(stride),
		Pos: u32(a.pos), Window: u32(a.window), KVRows: u32(a.kvRows),
	}
	a.q, a.query = c.random(a.rows*stride, 3/math.Sqrt(float64(width)))
	a.query = append([]float32(nil), a.query...)
	n := a.kvRows * a.kvHeads * width
	a.keys, a.values = c.kv(n, half), c.kv(n, half)
	for i := range n {
		a.keys.put(i, c.rng.NormFloat64())
		a.values.put(i, c.rng.NormFloat64())
	}
	a.ends = c.buffer(4 * a.rows)
	for r := range a.rows {
		words(a.ends)[r] = u32(a.pos + r + 1)
	}
	words(a.ends)[1], words(a.ends)[2] = u32(a.pos+4), u32(a.pos+4)
	return a
}

// low is the first position that a row sees.
func (a *attendCheck) low(r int) int {
	if a.window == 0 {
		return 0
	}
	return max(0, a.pos+r+1-a.window)
}

func (a *attendCheck) compare(c *checker, got []float32) {
	stride, group := int(a.p.Stride), a.heads/a.kvHeads
	for r := range a.rows {
		for h := range a.heads {
			q := a.query[r*stride+h*a.width:][:a.width]
			out, sum := make([]float64, a.width), 0.0
			for j := a.low(r); j < int(words(a.ends)[r]); j++ {
				at := (j%a.kvRows*a.kvHeads + h/group) * a.width
				score := 0.0
				for d, v := range q {
					score += float64(v) * a.keys.at(at+d)
				}
				e := math.Exp(score)
				sum += e
				for d := range out {
					out[d] += e * a.values.at(at+d)
				}
			}
			for d, v := range out {
				c.near(got[r*stride+h*a.width+d], v/sum, 1)
			}
		}
	}
}

// checkAttend compares attend with a plain softmax.
func checkAttend(c *checker, variant string) {
	c.limit = 1e-5
	kv, width := attendVariant(variant)
	a := c.attention(kv == "f16", width)
	a.runWhole(c, c.k)
	a.compare(c, floats(a.q))
}

// checkSplit compares what attend_split and attend_join make with attend's output, bit by bit.
func checkSplit(c *checker, variant string) {
	kv, width := attendVariant(variant)
	a := c.attention(kv == "f16", width)
	whole, split := c.get("attend_%s_d%d", kv, width), c.get("attend_split_%s_d%d", kv, width)
	join := c.get("attend_join_d%d", width)
	if c.err != nil {
		return
	}
	a.runWhole(c, whole)
	x := floats(a.q)
	want := append([]float32(nil), x...)
	copy(x, a.query)
	first, last := a.low(0)/shaders.AttendBlock, ceil(a.pos+a.rows, shaders.AttendBlock)
	a.p.FirstBlock, a.p.Blocks = u32(first), u32(last-first)
	queries := (last - first) * a.rows * a.heads
	parts, _ := c.unwritten(2 * queries)
	sums, _ := c.unwritten(queries * width)
	tiles := ceil(a.rows*int(a.p.Group), shaders.AttendTile)
	c.run(split, driver.D3(last-first, tiles, a.kvHeads), in(a.q), in(a.keys.buffer), in(a.values.buffer), in(a.ends),
		in(parts), in(sums), inBytes(shaders.Bytes(&a.p)))
	c.runThreads(join, driver.D3(width/2, a.heads, a.rows), in(parts), in(sums), in(a.q), inBytes(shaders.Bytes(&a.p)))
	for i, v := range want {
		if math.Float32bits(x[i]) != math.Float32bits(v) {
			c.near(x[i], float64(v), 0)
		}
	}
}

// attendVariant reads a variant, as "f16_d256" or "d256".
func attendVariant(variant string) (kv string, width int) {
	kv, size, found := strings.Cut(variant, "_")
	if !found {
		kv, size = "f16", variant
	}
	if _, err := fmt.Sscanf(size, "d%d", &width); err != nil {
		panic("BUG: metal: attention variant " + variant)
	}
	return kv, width
}

func (a *attendCheck) runWhole(c *checker, k *kernel) {
	tiles := ceil(a.rows*int(a.p.Group), shaders.AttendTile)
	c.run(k, driver.D2(tiles, a.kvHeads), in(a.q), in(a.keys.buffer), in(a.values.buffer), in(a.ends),
		inBytes(shaders.Bytes(&a.p)))
}

// get looks up another kernel than the one that is checked.
func (c *checker) get(format string, args ...any) *kernel {
	k, err := c.b.kernel(fmt.Sprintf(format, args...))
	if err != nil {
		c.err = err
	}
	return k
}
