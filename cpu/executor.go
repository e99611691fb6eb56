package cpu

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

var (
	_ core.Backend      = (*Backend)(nil)
	_ core.TowerBackend = (*Backend)(nil)
)

// rowBlock is the most rows that go through a half layer at once: enough to use each unpacked weight many times, few
// enough for the intermediate rows to stay in the caches.
const rowBlock = 128

// An executor runs the stages at the time of the call. Its stages are in executor_attend.go, executor_ffn.go and
// executor_head.go; what they share is here.
type executor struct {
	k    *kernelSet
	pool *pool
	w    *core.Weights
	opts core.ExecutorOptions
	mem  arena

	residual []float32 // [MaxRows, D]
	shared   []float32 // [MaxRows, D] shared expert, normed
	expertIn []float32 // [MaxRows, packed D] what routed experts see
	routed   []float32 // [MaxRows, K, D] their outputs
	scores   []float32 // [MaxRows, E]

	// Of one row block:
	packed       []float32 // [block, packedWidth]
	query        []float32 // [block, H*Dh], then the attention's output
	key, value   []float32 // [block, G*Dh]
	gate, up     []float32 // [block, FFN width]
	out          []float32 // [block, D]
	partials     []float32 // attention of few rows
	worker       [][]float32
	packedWidth  int
	sliding      *ropeTable
	full         *ropeTable
	experts      []gturbo.ExpertID
	expertWeight []float32
	held         heldRuns
	ran          []bool   // which of row 0's experts have run as its only ones, [K]: see Forecast
	forecast     struct { // of the layer after the one that runs; made when first asked for
		experts []gturbo.ExpertID
		weights []float32
	}

	// Arguments of the rows being worked on.
	at struct {
		layer  *core.LayerWeights
		config core.LayerConfig
		kv     *kvLayer
		rope   *ropeTable
		base   int // first row of the block
		batch  *core.Batch
		picks  []core.Pick
		width  int // of the FFN
		bits   int // of the FFN's second matrix
	}
	affine affineJob
	fine   affineJob // see kernelSet.fine
	attend attendJob
	row    rowJob
}

// partialBytes bounds the scratch for attention that is split over positions.
const partialBytes = 4 << 20

// NewExecutor checks the shapes of w and allocates all scratch. Errors wrap ErrShape or those of package pages.
func (b *Backend) NewExecutor(w *core.Weights, opts core.ExecutorOptions) (core.Executor, error) {
	if err := checkWeights(w); err != nil {
		return nil, err
	}
	if opts.MaxRows < 1 || opts.KV != core.KVFloat16 && opts.KV != core.KVFloat32 {
		return nil, fmt.Errorf("cpu: executor for %d rows, KV type %d: %w", opts.MaxRows, opts.KV, ErrShape)
	}
	e := &executor{k: b.kern, w: w, opts: opts}
	e.layOut(b.threads)
	if err := e.mem.alloc("scratch"); err != nil {
		return nil, err
	}
	e.pool = newPool(b.threads)
	e.affine = affineJob{k: e.k, scratch: e.worker}
	e.fine = affineJob{k: e.k.finer(), scratch: e.worker}
	e.row.e = e
	return e, nil
}

// layOut asks for the scratch that the model's dimensions and the number of rows take.
func (e *executor) layOut(threads int) {
	c, rows := &e.w.Config, e.opts.MaxRows
	block := min(rows, rowBlock)
	d, ffn := c.Hidden, max(c.SharedWidth, c.ExpertWidth)
	query, kv, attendLen := 0, 0, 0
	slidingDim, fullDim := 0, 0
	for _, l := range c.Layers {
		query = max(query, c.Heads*l.HeadDim)
		kv = max(kv, l.KVHeads*l.HeadDim)
		attendLen = max(attendLen, attendJobScratch(c.Heads/l.KVHeads, l.HeadDim))
		if l.Full {
			fullDim = l.HeadDim
		} else {
			slidingDim = l.HeadDim
		}
	}
	e.packedWidth = packedLen(max(d, query, ffn))
	m := &e.mem
	m.floats(&e.residual, rows*d)
	m.floats(&e.shared, rows*d)
	m.floats(&e.expertIn, rows*packedLen(d))
	m.floats(&e.routed, rows*c.TopK*d)
	m.floats(&e.scores, rows*c.Experts)
	m.floats(&e.packed, max(block, c.TopK)*e.packedWidth)
	m.floats(&e.query, block*query)
	m.floats(&e.key, block*kv)
	m.floats(&e.value, block*kv)
	m.floats(&e.gate, max(block*ffn, c.TopK*c.ExpertWidth))
	m.floats(&e.up, max(block*ffn, c.TopK*c.ExpertWidth))
	m.floats(&e.out, block*d)
	m.floats(&e.partials, partialBytes/4)
	m.floats(&e.expertWeight, rows*c.TopK)
	e.sliding = newRopeTable(m, c.RopeTheta, slidingDim, slidingDim/2, rows)
	e.full = newRopeTable(m, c.FullRopeTheta, fullDim, min(c.FullRotary, fullDim/2), rows)
	e.experts = make([]gturbo.ExpertID, rows*c.TopK)
	e.ran = make([]bool, c.TopK)
	e.worker = make([][]float32, threads)
	for i := range e.worker {
		m.floats(&e.worker[i], max(scratchLen(max(d, query, ffn)), attendLen))
	}
}

// NewCache allocates zeroed keys and values.
func (e *executor) NewCache(spec core.CacheSpec) (core.Cache, error) {
	return newCache(&e.w.Config, e.opts.KV, spec)
}

// Residual copies the residual stream of b's rows.
func (e *executor) Residual(b *core.Batch, dst []float32) error {
	copy(dst, e.residual[:len(b.Tokens)*e.w.Config.Hidden])
	return nil
}

// Drain forgets experts that wait to run together, after an error. All else is done when its call returns.
func (e *executor) Drain() error {
	e.held.release()
	return nil
}

// Close ends the threads and frees the scratch. Caches are closed apart.
func (e *executor) Close() error {
	e.pool.close()
	return e.mem.region.Close()
}

// residualRow is row of the residual stream.
func (e *executor) residualRow(row int) []float32 {
	d := e.w.Config.Hidden
	return e.residual[row*d:][:d]
}

// packedRow is row i of the block's packed activations.
func (e *executor) packedRow(i int) []float32 { return e.packed[i*e.packedWidth:][:e.packedWidth] }

// input begins a product with the first rows of packed.
func (e *executor) input(rows int) *affineJob { return e.affine.input(e.packed, e.packedWidth, rows) }

// fineInput is input for rows that fine.k has packed.
func (e *executor) fineInput(rows int) *affineJob { return e.fine.input(e.packed, e.packedWidth, rows) }

// A rowJob calls f for each of its rows. f is a method expression with its arguments in executor.at: a closure would
// cost an allocation per stage.
type rowJob struct {
	e     *executor
	f     func(e *executor, worker, row int)
	rows  int
	grain int
}

// eachRow runs f for rows 0 to rows-1.
func (e *executor) eachRow(rows int, f func(e *executor, worker, row int)) {
	e.row.f, e.row.rows = f, rows
	e.row.grain = (rows + 8*e.pool.threads - 1) / (8 * e.pool.threads)
	e.pool.run(&e.row, (rows+e.row.grain-1)/e.row.grain)
}

func (j *rowJob) task(worker, index int) {
	for row := index * j.grain; row < min((index+1)*j.grain, j.rows); row++ {
		j.f(j.e, worker, row)
	}
}
