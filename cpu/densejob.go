package cpu

// A denseJob multiplies the same rows with one or more bf16 matrices of equal width, in tasks of some outputs each.
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

func (j *denseJob) run(p *pool) {
	j.grain = 16
	j.tasks = (j.out() + j.grain - 1) / j.grain
	p.run(j, j.used*j.tasks)
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
