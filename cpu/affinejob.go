package cpu

import "github.com/fieldfare/fieldfare/core"

// An affineJob multiplies the same rows with one or more quantized matrices, in tasks of some outputs each.
type affineJob struct {
	k         *kernelSet
	x         []float32 // packed rows
	ldx, rows int
	parts     [3]affinePart
	used      int
	grain     int // outputs per task
	scratch   [][]float32
	// limit, when positive, softcaps the results: logits.
	limit float32
}

// An affinePart is one matrix and where its results go: y[r*ldy+o].
type affinePart struct {
	w     core.Affine
	y     []float32
	ldy   int
	tasks int
}

func (j *affineJob) input(x []float32, ldx, rows int) *affineJob {
	j.x, j.ldx, j.rows, j.used, j.limit = x, ldx, rows, 0, 0
	return j
}

func (j *affineJob) add(w core.Affine, y []float32, ldy int) *affineJob {
	j.parts[j.used] = affinePart{w: w, y: y, ldy: ldy}
	j.used++
	return j
}

// maxGrain keeps the weights of one task, unpacked in strips, and its results inside a core's cache.
const maxGrain = 512

// run computes all parts. Grain is chosen for balance only: results do not depend on it.
func (j *affineJob) run(p *pool) {
	outputs := 0
	for _, part := range j.parts[:j.used] {
		outputs += part.w.Out
	}
	j.grain = min(max(outputs/(8*p.threads)+15, 16)&^15, maxGrain)
	if j.rows > 1 {
		j.grain = min(j.grain, 32)
	}
	tasks := 0
	for i := range j.used {
		part := &j.parts[i]
		part.tasks = (part.w.Out + j.grain - 1) / j.grain
		tasks += part.tasks
	}
	p.run(j, tasks)
}

func (j *affineJob) task(worker, index int) {
	i := 0
	for index >= j.parts[i].tasks {
		index -= j.parts[i].tasks
		i++
	}
	part := &j.parts[i]
	lo := index * j.grain
	hi := min(lo+j.grain, part.w.Out)
	j.k.affine(affineCall{
		w: part.w, lo: lo, hi: hi, x: j.x, ldx: j.ldx, rows: j.rows, y: part.y[lo:], ldy: part.ldy,
		scratch: j.scratch[worker],
	})
	if j.limit > 0 {
		for r := range j.rows {
			j.k.softcap(part.y[r*part.ldy+lo:][:hi-lo], j.limit)
		}
	}
}
