package metal

import (
	"math"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// A product's distance is measured by the sum of its absolute terms: f32 sums of a few thousand terms in 32 lanes.
const productLimit = 1e-6

// variantOf reads a product's variant, as "int4_r8".
func variantOf(variant string) (bits, rows int) {
	bits, rows = 4, 1
	if strings.HasPrefix(variant, "int8") {
		bits = 8
	}
	if strings.HasSuffix(variant, "_r8") {
		rows = shaders.ProductRows
	}
	return bits, rows
}

// checkAffine runs three matrices at once, then the same with the softcap. Rows do not fill the last tile.
func checkAffine(c *checker, variant string) {
	bits, tile := variantOf(variant)
	a := affineCheck{bits: bits, rows: 1 + tile/2, outs: [3]int{c.size(12, 4096), c.size(8, 2048), c.size(7, 2048)}}
	a.limits = []float32{0, 3}
	c.affine(a, func(got []float32, p *shaders.AffineParams, args ...argument) {
		width := ceil(int(p.Outputs), shaders.ProductSimds*shaders.ProductOutputs)
		c.bothWays(got, func(k *kernel, tile int) { c.run(k, driver.D2(width, ceil(a.rows, tile)), args...) })
	})
}

// checkAffineTensor has edges on both sides, and a tile that begins in one matrix and ends in the next.
func checkAffineTensor(c *checker, variant string) {
	bits, _ := variantOf(variant)
	a := affineCheck{bits: bits, rows: 70, outs: [3]int{c.size(60, 1000), c.size(8, 512), c.size(7, 511)}, limits: []float32{0}}
	c.affine(a, func(_ []float32, p *shaders.AffineParams, args ...argument) {
		c.run(c.k, driver.D2(ceil(int(p.Outputs), shaders.TensorTile), ceil(a.rows, shaders.TensorTile)), args...)
	})
}

// An affineCheck is a product of rows with three matrices, with each of limits.
type affineCheck struct {
	bits, rows int
	outs       [3]int
	limits     []float32
}

// affine compares what run makes; its arguments are those of the kernel.
func (c *checker) affine(a affineCheck, run func(got []float32, p *shaders.AffineParams, args ...argument)) {
	c.limit = productLimit
	bits, rows, outs, d := a.bits, a.rows, a.outs, c.size(320, 2816)
	w := c.tensors((outs[0]+outs[1]+outs[2])*d*bits/7 + 1<<12)
	p := shaders.AffineParams{Inputs: u32(d), Rows: u32(rows), XStride: u32(d)}
	var all []core.Affine
	for i, out := range outs {
		m, a := w.affine(out, d, bits)
		p.Matrix[i] = m
		p.Outputs += u32(out)
		p.Ends[i] = p.Outputs
		all = append(all, a)
	}
	p.YStride = p.Outputs + 3
	x, input := c.random(rows*d, 1)
	y, got := c.unwritten(rows * int(p.YStride))
	for _, limit := range a.limits {
		p.Limit = limit
		run(got, &p, in(w.buffer), in(x), in(y), inBytes(shaders.Bytes(&p)))
		at := 0
		for _, a := range all {
			for o := range a.Out {
				weights := row(a, o)
				for r := range rows {
					want, magnitude := dot(weights, input[r*d:][:d])
					if limit != 0 {
						want = float64(limit) * math.Tanh(want/float64(limit))
					}
					c.near(got[r*int(p.YStride)+at+o], want, magnitude)
				}
			}
			at += a.Out
		}
	}
}

// bothWays runs c.k and, if that takes many rows at once, the kernel for one row, which must come to the same bits.
func (c *checker) bothWays(got []float32, run func(k *kernel, tile int)) {
	name, many := strings.CutSuffix(c.k.spec.Name, "_r8")
	if !many {
		run(c.k, 1)
		return
	}
	run(c.get("%s_r1", name), 1)
	want := slices.Clone(got)
	run(c.k, shaders.ProductRows)
	for i, v := range want {
		if math.Float32bits(got[i]) != math.Float32bits(v) && v == v {
			c.near(float32(math.NaN()), 0, 1)
		}
	}
}

// activated is gelu(gate x)*(up x) of one output, and what its rounding errors are measured by.
func activated(gate, up []float64, x []float32) (want, magnitude float64) {
	g, gm := dot(gate, x)
	u, um := dot(up, x)
	return geluOf(g) * u, (gm+1)*(math.Abs(u)+1) + (math.Abs(g)+1)*um
}

func checkGeglu(c *checker, variant string) {
	c.limit = productLimit
	bits, tile := variantOf(variant)
	rows, d, width := 1+tile/2, c.size(320, 2816), c.size(18, 2112)
	w := c.tensors(2*width*d*bits/7 + 1<<12)
	p := shaders.GegluParams{Inputs: u32(d), Outputs: u32(width), Rows: u32(rows)}
	var gate, up core.Affine
	p.Gate, gate = w.affine(width, d, bits)
	p.Up, up = w.affine(width, d, bits)
	x, input := c.random(rows*d, 3)
	y, got := c.unwritten(rows * width)
	c.bothWays(got, func(k *kernel, tile int) {
		c.run(k, driver.D2(ceil(width, shaders.ProductSimds*shaders.ProductOutputs/2), ceil(rows, tile)),
			in(w.buffer), in(x), in(y), inBytes(shaders.Bytes(&p)))
	})
	for o := range width {
		g, u := row(gate, o), row(up, o)
		for r := range rows {
			want, magnitude := activated(g, u, input[r*d:][:d])
			c.near(got[r*width+o], want, magnitude)
		}
	}
}

// An expertCheck is three experts with their picks, the second of which has more than a tile of them.
type expertCheck struct {
	d, width, k, rows int
	p                 shaders.ExpertParams
	blobs             [shaders.ExpertRuns]argument
	gate, up, down    []core.Affine
	picks             []uint32
	run               []int // of each pick
	most              int
}

func (c *checker) experts(tile int) *expertCheck {
	e := &expertCheck{d: c.size(192, 2816), width: c.size(64, 704), k: 3, rows: 2 + tile}
	counts := []int{1, e.rows, 1}
	if tile == 1 {
		counts[1] = 1
	}
	for run, n := range counts {
		w := c.tensors(3 * e.width * e.d * 4 / 7)
		m := [3]shaders.Matrix{}
		var parts [3]core.Affine
		m[0], parts[0] = w.affine(e.width, e.d, 4)
		m[1], parts[1] = w.affine(e.width, e.d, 4)
		m[2], parts[2] = w.affine(e.d, e.width, 4)
		e.p.Gate, e.p.Up, e.p.Down = m[0], m[1], m[2] // the same for all: equal sizes, equal places
		e.gate, e.up, e.down = append(e.gate, parts[0]), append(e.up, parts[1]), append(e.down, parts[2])
		e.blobs[run] = in(w.buffer)
		for i := range n {
			e.picks = append(e.picks, u32((i+run)%e.rows), u32(run))
			e.run = append(e.run, run)
		}
		e.p.First[run+1] = u32(len(e.run))
		e.most = max(e.most, n)
	}
	for i := len(counts); i < shaders.ExpertRuns; i++ {
		e.blobs[i], e.p.First[i+1] = e.blobs[0], u32(len(e.run))
	}
	e.p.TopK = u32(e.k)
	return e
}

func (c *checker) runExperts(e *expertCheck, outputs int, x, y driver.Buffer, got []float32) {
	b := &e.blobs
	c.bothWays(got, func(k *kernel, tile int) {
		c.run(k, driver.D3(ceil(int(e.p.Outputs), shaders.ProductSimds*outputs), ceil(e.most, tile), 3), b[0], b[1], b[2], b[3],
			b[4], b[5], b[6], b[7], in(x), in(y), inBytes(asBytes(e.picks)), inBytes(shaders.Bytes(&e.p)))
	})
}

func checkExpertGeglu(c *checker, variant string) {
	c.limit = productLimit
	_, tile := variantOf(variant)
	e := c.experts(tile)
	e.p.Inputs, e.p.Outputs = u32(e.d), u32(e.width)
	x, input := c.random(e.rows*e.d, 3)
	y, got := c.unwritten(len(e.run) * e.width)
	c.runExperts(e, shaders.ProductOutputs/2, x, y, got)
	for j, run := range e.run {
		for o := range e.width {
			r := int(e.picks[2*j])
			want, magnitude := activated(row(e.gate[run], o), row(e.up[run], o), input[r*e.d:][:e.d])
			c.near(got[j*e.width+o], want, magnitude)
		}
	}
}

func checkExpertDown(c *checker, variant string) {
	c.limit = productLimit
	_, tile := variantOf(variant)
	e := c.experts(tile)
	e.p.Inputs, e.p.Outputs = u32(e.width), u32(e.d)
	x, input := c.random(len(e.run)*e.width, 3)
	y, got := c.unwritten(e.rows * e.k * e.d)
	c.runExperts(e, shaders.ProductOutputs, x, y, got)
	for j, run := range e.run {
		place := (int(e.picks[2*j])*e.k + int(e.picks[2*j+1])) * e.d
		for o := range e.d {
			want, magnitude := dot(row(e.down[run], o), input[j*e.width:][:e.width])
			c.near(got[place+o], want, magnitude)
		}
	}
}
