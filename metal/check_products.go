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
func checkAffine(c *checker, variant string) { checkSums(c, variant, 1) }

// checkAffineSplit does the same with kernels whose simdgroups share outputs.
func checkAffineSplit(c *checker, variant string) { checkSums(c, variant, shaders.SplitParts) }

// checkSums is for kernels of which so many simdgroups make an output of one row.
func checkSums(c *checker, variant string, parts int) {
	bits, tile := variantOf(variant)
	a := affineCheck{bits: bits, rows: 1 + tile/2, outs: [3]int{c.size(12, 4096), c.size(8, 2048), c.size(7, 2048)}}
	a.limits, a.inputs = []float32{0, 3}, c.sizes([]int{320, 1856}, []int{2816}) // no whole step of a simdgroup; three and a rest
	c.affine(a, func(got []float32, p *shaders.AffineParams, args ...argument) {
		c.bothWays(got, func(k *kernel, tile int) {
			perGroup := shaders.ProductSimds * shaders.ProductOutputs
			if tile == 1 {
				perGroup /= parts
			}
			c.run(k, driver.D2(ceil(int(p.Outputs), perGroup), ceil(a.rows, tile)), args...)
		})
	})
}

// checkAffineTensor has edges on both sides, and a tile that begins in one matrix and ends in the next.
func checkAffineTensor(c *checker, variant string) {
	bits, _ := variantOf(variant)
	a := affineCheck{bits: bits, rows: 70, outs: [3]int{c.size(60, 1000), c.size(8, 512), c.size(7, 511)}}
	a.limits, a.inputs = []float32{0}, c.sizes([]int{320}, []int{2816})
	c.affine(a, func(_ []float32, p *shaders.AffineParams, args ...argument) {
		c.run(c.k, driver.D2(ceil(int(p.Outputs), shaders.TensorTile), ceil(a.rows, shaders.TensorTile)), args...)
	})
}

// An affineCheck is a product of rows with three matrices, with each number of inputs and each of limits.
type affineCheck struct {
	bits, rows int
	outs       [3]int
	inputs     []int
	limits     []float32
}

// affine compares what run makes; its arguments are those of the kernel.
func (c *checker) affine(a affineCheck, run func(got []float32, p *shaders.AffineParams, args ...argument)) {
	for _, d := range a.inputs {
		c.affineInputs(a, d, run)
	}
}

// affineInputs is affine for one number of inputs.
func (c *checker) affineInputs(a affineCheck, d int, run func(got []float32, p *shaders.AffineParams, args ...argument)) {
	c.limit = productLimit
	bits, rows, outs := a.bits, a.rows, a.outs
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
	bits, tile := variantOf(variant)
	rows := 1 + tile/2
	c.geglu(bits, rows, c.size(18, 2112), func(got []float32, p *shaders.GegluParams, args ...argument) {
		width := ceil(int(p.Outputs), shaders.ProductSimds*shaders.ProductOutputs/2)
		c.bothWays(got, func(k *kernel, tile int) { c.run(k, driver.D2(width, ceil(rows, tile)), args...) })
	})
}

// checkGegluTensor has edges on both sides.
func checkGegluTensor(c *checker, variant string) {
	bits, _ := variantOf(variant)
	const rows = 70
	c.geglu(bits, rows, c.size(38, 1000), func(_ []float32, p *shaders.GegluParams, args ...argument) {
		c.run(c.k, driver.D2(ceil(int(p.Outputs), shaders.TensorPairs), ceil(rows, shaders.TensorTile)), args...)
	})
}

// geglu compares what run makes; its arguments are those of the kernel.
func (c *checker) geglu(bits, rows, width int, run func(got []float32, p *shaders.GegluParams, args ...argument)) {
	c.limit = productLimit
	d := c.size(640, 2816)
	w := c.tensors(2*width*d*bits/7 + 1<<12)
	p := shaders.GegluParams{Inputs: u32(d), Outputs: u32(width), Rows: u32(rows)}
	var gate, up core.Affine
	p.Gate, gate = w.affine(width, d, bits)
	p.Up, up = w.affine(width, d, bits)
	x, input := c.random(rows*d, 3)
	y, got := c.unwritten(rows * width)
	run(got, &p, in(w.buffer), in(x), in(y), inBytes(shaders.Bytes(&p)))
	for o := range width {
		g, u := row(gate, o), row(up, o)
		for r := range rows {
			want, magnitude := activated(g, u, input[r*d:][:d])
			c.near(got[r*width+o], want, magnitude)
		}
	}
}
