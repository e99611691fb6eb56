package cpu

import "github.com/fieldfare/fieldfare/core"

// An affineJob multiplies rows with one or more quantized matrices, in tasks of some outputs each.
type affineJob struct {
	k         *kernelSet
	x         []float32 // packed rows
	ldx, rows int
	parts     []affinePart
	grain     int // outputs per task
	scratch   [][]float32
	// limit, when positive, softcaps the results: logits.
	limit float32
}

// An affinePart is one matrix, the rows it meets and where its results go: y[r*ldy+o].
type affinePart struct {
	x     []float32
	w     core.Affine
	y     []float32
	ldy   int
	tasks int
}

func (j *affineJob) input(x []float32, ldx, rows int) *affineJob {
	j.x, j.ldx, j.rows, j.parts, j.limit = x, ldx, rows, j.parts[:0], 0
	return j
}

func (j *affineJob) add(w core.Affine, y []float32, ldy int) *affineJob {
	return j.addFrom(j.x, w, y, ldy)
}

// addFrom is add for rows of the part's own.
func (j *affineJob) addFrom(x []float32, w core.Affine, y []float32, ldy int) *affineJob {
	j.parts = append(j.parts, affinePart{x: x, w: w, y: y, ldy: ldy})
	return j
}

const (
	// maxGrain keeps the weights of one task, unpacked in strips, and its results inside a core's cache.
	maxGrain = 512
	// taskBytes is the size in codes from which on a task of one row is divided further, so that the last tasks of a job
	// end soon after each other; but not into more than maxTasks for each thread.
	taskBytes = 64 << 10
	maxTasks  = 128
)

// run computes all parts. Grain is chosen for balance only: results do not depend on it.
func (j *affineJob) run(p *pool) {
	outputs := 0
	for _, part := range j.parts {
		outputs += part.w.Out
	}
	j.grain = outputs / (8 * p.threads)
	if j.rows > 1 {
		j.grain = min(j.grain, 32)
	} else {
		w := j.parts[0].w
		j.grain = min(j.grain, max(taskBytes/(w.In*w.Bits/8), outputs/(maxTasks*p.threads)))
	}
	j.grain = min(max(j.grain+15, 16)&^15, maxGrain)
	tasks := 0
	for i := range j.parts {
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
		w: part.w, lo: lo, hi: hi, x: part.x, ldx: j.ldx, rows: j.rows, y: part.y[lo:], ldy: part.ldy,
		scratch: j.scratch[worker],
	})
	if j.limit > 0 {
		for r := range j.rows {
			j.k.softcap(part.y[r*part.ldy+lo:][:hi-lo], j.limit)
		}
	}
}
