package metal

import (
	"fmt"
	"math"
	"strings"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// An attendCheck is a chunk of rows in the middle of a sequence, in a ring that wraps, with a span that sees ahead.
type attendCheck struct {
	rows, heads, kvHeads, width, pos, window, kvRows int

	p            shaders.AttendParams
	q            driver.Buffer
	query        []float32 // as it was
	keys, values kvBuffer
	ends         driver.Buffer
}

func (c *checker) attention(half bool, width, rows int) *attendCheck {
	a := &attendCheck{rows: rows, heads: 4, kvHeads: 2, width: width, pos: 70, window: 75, kvRows: 85 + rows}
	if c.full {
		a.heads, a.kvHeads, a.pos, a.window, a.kvRows = 16, 8, 1100, 1024, 1025+rows
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

// checkRows is how many rows the attention kernels are checked with: less than a tile. tensorRows are more than
// one of attend_tensor.
const (
	checkRows  = 5
	tensorRows = 20
)

// checkAttend compares attend with a plain softmax.
func checkAttend(c *checker, variant string) {
	c.limit = 1e-5
	kv, width := attendVariant(variant)
	a := c.attention(kv == "f16", width, checkRows)
	a.runWhole(c, c.k, shaders.AttendTile)
	a.compare(c, floats(a.q))
}

// checkAttendTensor does the same with tiles of attend_tensor.
func checkAttendTensor(c *checker, variant string) {
	c.limit = 1e-5
	kv, width := attendVariant(variant)
	a := c.attention(kv == "f16", width, tensorRows)
	a.runWhole(c, c.k, shaders.TensorQueries)
	a.compare(c, floats(a.q))
}

// checkSplit compares what attend_split and attend_join make with attend's output, bit by bit.
func checkSplit(c *checker, variant string) {
	kv, width := attendVariant(variant)
	a := c.attention(kv == "f16", width, checkRows)
	whole, split := c.get("attend_%s_d%d", kv, width), c.get("attend_split_%s_d%d", kv, width)
	join := c.get("attend_join_d%d", width)
	if c.err != nil {
		return
	}
	a.runWhole(c, whole, shaders.AttendTile)
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

// runWhole dispatches a kernel whose threadgroups have so many queries.
func (a *attendCheck) runWhole(c *checker, k *kernel, queries int) {
	tiles := ceil(a.rows*int(a.p.Group), queries)
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
