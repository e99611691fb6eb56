package cpu

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
)

// A tower runs one image at a time on scratch that grows with the patches, never with their square. The residual
// stream and all intermediates are float32. Stages are in tower_embed.go, tower_layer.go and tower_pool.go.
type tower struct {
	k    *kernelSet
	pool *pool
	cfg  core.TowerConfig
	max  int // patches that the scratch is for
	mem  arena

	patches      int
	gridW, gridH int

	hidden            []float32 // [P, Dv] residual stream
	query, key, value []float32 // [heads, P, Dh]; query becomes the attention's output. tower_panels.go has another order
	pooled            []float32 // [P/k^2, Dv]

	// Of one row block:
	normed   []float32 // [block, Dv]
	wide     []float32 // either of the next two
	q, kk, v []float32 // [block, Dv] as projected
	gate, up []float32 // [block, F]
	out      []float32 // [block, Dv]
	packed   []float32 // [rowBlock, packed Dv] for the projector

	worker [][]float32
	rope   *ropeTable // one axis: rows are coordinates

	at struct {
		embedding core.TowerEmbedding
		layer     core.TowerLayer
		pooling   core.TowerPooling
		patches   []byte
		base      int
	}
	row    towerRowJob
	dense  denseJob
	affine affineJob
	attend towerAttendJob
}

// NewTower checks cfg and allocates scratch for maxPatches patches. Errors wrap ErrShape or those of package pages.
func (b *Backend) NewTower(cfg core.TowerConfig, maxPatches int) (core.Tower, error) {
	if err := checkTower(cfg, maxPatches); err != nil {
		return nil, err
	}
	t := &tower{k: b.kern, cfg: cfg, max: maxPatches}
	t.layOut(b.threads)
	if err := t.mem.alloc("tower"); err != nil {
		return nil, err
	}
	t.divideWide()
	t.pool = newPool(b.threads)
	t.row.t = t
	t.dense = denseJob{k: t.k, scratch: t.worker}
	t.affine = affineJob{k: t.k.finer(), scratch: t.worker}
	return t, nil
}

func checkTower(c core.TowerConfig, maxPatches int) error {
	var s shapeCheck
	s.want(c.Heads > 0 && c.Hidden == c.Heads*c.HeadDim, "width %d, %d heads of %d", c.Hidden, c.Heads, c.HeadDim)
	s.want(c.HeadDim > 0 && c.HeadDim%8 == 0 && c.HeadDim <= maxHeadDim, "heads of %d, want a multiple of 8 up to %d",
		c.HeadDim, maxHeadDim)
	s.want(c.PatchDim > 0 && c.PatchDim%8 == 0 && c.Width > 0 && c.Width%8 == 0,
		"patches of %d, FFN width %d: want multiples of 8", c.PatchDim, c.Width)
	s.want(c.Hidden%groupSize == 0, "width %d, want a multiple of %d for the projector", c.Hidden, groupSize)
	s.want(c.Pool > 0 && c.PositionRows > 0 && maxPatches > 0,
		"pooling %d, %d position rows, %d patches: want all positive", c.Pool, c.PositionRows, maxPatches)
	return joinProblems("cpu: tower", s.problems)
}

// towerBlock is the most patches that go through a half layer at once. They are many: each weight is widened, and read
// from memory, once for all of them.
const towerBlock = 384

func (t *tower) blockRows() int { return min(t.max, towerBlock) }

func (t *tower) layOut(threads int) {
	c := &t.cfg
	block := t.blockRows()
	m := &t.mem
	m.floats(&t.hidden, t.max*c.Hidden)
	m.floats(&t.query, t.max*c.Hidden)
	m.floats(&t.key, c.Heads*padOuter(t.max)*c.HeadDim)
	m.floats(&t.value, c.Heads*t.max*padOuter(c.HeadDim))
	m.floats(&t.pooled, (t.max+c.Pool*c.Pool-1)/(c.Pool*c.Pool)*c.Hidden)
	m.floats(&t.normed, block*max(c.Hidden, c.PatchDim))
	m.floats(&t.wide, block*max(3*c.Hidden, 2*c.Width))
	m.floats(&t.out, block*c.Hidden)
	m.floats(&t.packed, min(t.max, rowBlock)*packedLen(c.Hidden))
	t.rope = newRopeTable(m, c.RopeTheta, c.HeadDim/2, c.HeadDim/4, min(t.max, c.PositionRows))
	t.worker = make([][]float32, threads)
	for i := range t.worker {
		m.floats(&t.worker[i], max(denseScratchLen(max(c.Hidden, c.Width, c.PatchDim)), towerAttendScratch(c.HeadDim)))
	}
}

// divideWide places what is never in use together.
func (t *tower) divideWide() {
	row, gate := t.blockRows()*t.cfg.Hidden, t.blockRows()*t.cfg.Width
	t.q, t.kk, t.v = t.wide[:row], t.wide[row:2*row], t.wide[2*row:3*row]
	t.gate, t.up = t.wide[:gate], t.wide[gate:2*gate]
}

// Drain has nothing to wait for: every stage is done when its call returns.
func (t *tower) Drain() error { return nil }

// Close ends the threads and frees the scratch.
func (t *tower) Close() error {
	t.pool.close()
	return t.mem.region.Close()
}

func (t *tower) hiddenRow(patch int) []float32 {
	return t.hidden[patch*t.cfg.Hidden:][:t.cfg.Hidden]
}

// setGrid takes the size of the next image.
func (t *tower) setGrid(gridW, gridH int) error {
	k := t.cfg.Pool
	if gridW < 1 || gridH < 1 || gridW%k != 0 || gridH%k != 0 || gridW*gridH > t.max {
		return fmt.Errorf("cpu: tower: grid of %d by %d patches, want multiples of %d and at most %d patches: %w",
			gridW, gridH, k, t.max, ErrShape)
	}
	if side := max(gridW, gridH); side > t.cfg.PositionRows {
		return fmt.Errorf("cpu: tower: grid side %d, position table of %d rows: %w", side, t.cfg.PositionRows, ErrShape)
	}
	t.gridW, t.gridH, t.patches = gridW, gridH, gridW*gridH
	t.rope.fill(0, max(gridW, gridH))
	return nil
}

// A towerRowJob is the tower's rowJob.
type towerRowJob struct {
	t     *tower
	f     func(t *tower, worker, row int)
	rows  int
	grain int
}

func (t *tower) eachRow(rows int, f func(t *tower, worker, row int)) {
	t.row.f, t.row.rows = f, rows
	t.row.grain = (rows + 8*t.pool.threads - 1) / (8 * t.pool.threads)
	t.pool.run(&t.row, (rows+t.row.grain-1)/t.row.grain)
}

func (j *towerRowJob) task(worker, index int) {
	for row := index * j.grain; row < min((index+1)*j.grain, j.rows); row++ {
		j.f(j.t, worker, row)
	}
}
