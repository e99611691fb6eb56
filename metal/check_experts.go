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
	runOf             []int // of each pick
	most              int
}

func (c *checker) experts(tile int) *expertCheck {
	e := &expertCheck{d: c.size(576, 2816), width: c.size(64, 704), k: 3, rows: 2 + tile}
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
			e.runOf = append(e.runOf, run)
		}
		e.p.First[run+1] = u32(len(e.runOf))
		e.most = max(e.most, n)
	}
	for i := len(counts); i < shaders.ExpertRuns; i++ {
		e.blobs[i], e.p.First[i+1] = e.blobs[0], u32(len(e.runOf))
	}
	e.p.TopK = u32(e.k)
	return e
}

// An expertRun dispatches a kernel of the experts.
type expertRun func(e *expertCheck, x, y driver.Buffer, got []float32)

func (e *expertCheck) run(c *checker, k *kernel, across, tile int, x, y driver.Buffer) {
	b := &e.blobs
	c.run(k, driver.D3(across, ceil(e.most, tile), 3), b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], in(x), in(y),
		inBytes(asBytes(e.picks)), inBytes(shaders.Bytes(&e.p)))
}

// bySimds is for kernels whose simdgroups make so many outputs.
func (c *checker) bySimds(outputs int) expertRun {
	return func(e *expertCheck, x, y driver.Buffer, got []float32) {
		across := ceil(int(e.p.Outputs), shaders.ProductSimds*outputs)
		c.bothWays(got, func(k *kernel, tile int) { e.run(c, k, across, tile, x, y) })
	}
}

// byTensors is for kernels whose threadgroups make so many outputs.
func (c *checker) byTensors(outputs int) expertRun {
	return func(e *expertCheck, x, y driver.Buffer, _ []float32) {
		e.run(c, c.k, ceil(int(e.p.Outputs), outputs), shaders.TensorPicks, x, y)
	}
}

func checkExpertGeglu(c *checker, variant string) {
	_, tile := variantOf(variant)
	c.expertGeglu(tile, c.bySimds(shaders.ProductOutputs/2))
}

func checkExpertGegluTensor(c *checker, _ string) {
	c.expertGeglu(shaders.TensorPicks, c.byTensors(shaders.TensorPairs))
}

func (c *checker) expertGeglu(tile int, run expertRun) {
	c.limit = productLimit
	e := c.experts(tile)
	e.p.Inputs, e.p.Outputs = u32(e.d), u32(e.width)
	x, input := c.random(e.rows*e.d, 3)
	y, got := c.unwritten(len(e.runOf) * e.width)
	run(e, x, y, got)
	for j, run := range e.runOf {
		for o := range e.width {
			r := int(e.picks[2*j])
			want, magnitude := activated(row(e.gate[run], o), row(e.up[run], o), input[r*e.d:][:e.d])
			c.near(got[j*e.width+o], want, magnitude)
		}
	}
}

func checkExpertDown(c *checker, variant string) {
	_, tile := variantOf(variant)
	c.expertDown(tile, c.bySimds(shaders.ProductOutputs))
}

func checkExpertDownTensor(c *checker, _ string) {
	c.expertDown(shaders.TensorPicks, c.byTensors(shaders.TensorTile))
}

func (c *checker) expertDown(tile int, run expertRun) {
	c.limit = productLimit
	e := c.experts(tile)
	e.p.Inputs, e.p.Outputs = u32(e.width), u32(e.d)
	x, input := c.random(len(e.runOf)*e.width, 3)
	y, got := c.unwritten(e.rows * e.k * e.d)
	run(e, x, y, got)
	for j, run := range e.runOf {
		place := (int(e.picks[2*j])*e.k + int(e.picks[2*j+1])) * e.d
		for o := range e.d {
			want, magnitude := dot(row(e.down[run], o), input[j*e.width:][:e.width])
			c.near(got[place+o], want, magnitude)
		}
	}
}
