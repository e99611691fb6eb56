package metal

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

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
