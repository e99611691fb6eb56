package cpu

// A denseJob multiplies the same rows with one or more bf16 matrices of equal width, in tasks of some outputs each. The
// rows are its own: a kernel set may prepare them in place.
type denseJob struct {
	k       *kernelSet
	x       []float32 // [rows, in]
	in      int
	rows    int
	parts   [3]densePart
	used    int
	grain   int
	tasks   int // per part
	scratch [][]float32
}

// A densePart is one matrix [out, in] and where its results go, [rows, out].
type densePart struct {
	w []byte
	y []float32
}

func (j *denseJob) input(x []float32, in, rows int) *denseJob {
	j.x, j.in, j.rows, j.used = x, in, rows, 0
	return j
}

func (j *denseJob) add(w []byte, y []float32) *denseJob {
	j.parts[j.used] = densePart{w, y}
	j.used++
	return j
}

// denseGrain is the outputs of a task, a multiple of what a kernel set unpacks together. A set with panels of outerOutputs
// takes two of them, which are whole cache lines of a row of results.
const denseGrain = 32

func (j *denseJob) run(p *pool) {
	j.grain = denseGrain
	if j.k.outer != nil {
		j.grain = 2 * outerOutputs
	}
	j.tasks = (j.out() + j.grain - 1) / j.grain
	if j.k.packDense != nil {
		p.run((*densePackJob)(j), (j.rows+densePackGrain-1)/densePackGrain)
	}
	p.run(j, j.used*j.tasks)
}

// densePackGrain is the rows that one task prepares.
const densePackGrain = 4

// A densePackJob prepares the rows of a denseJob.
type densePackJob denseJob

func (j *densePackJob) task(_, index int) {
	for row := index * densePackGrain; row < min((index+1)*densePackGrain, j.rows); row++ {
		j.k.packDense(j.x[row*j.in:][:j.in])
	}
}

func (j *denseJob) out() int { return len(j.parts[0].w) / (2 * j.in) }

func (j *denseJob) task(worker, index int) {
	part := j.parts[index/j.tasks]
	lo := index % j.tasks * j.grain
	hi := min(lo+j.grain, j.out())
	j.k.dense(denseCall{
		w: part.w, in: j.in, lo: lo, hi: hi, x: j.x, ldx: j.in, rows: j.rows, y: part.y[lo:], ldy: j.out(),
		scratch: j.scratch[worker],
	})
}
