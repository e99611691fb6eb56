package metal

import (
	"fmt"
	"slices"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// towerBlock is the most patches that go through the FFN at once: it bounds the scratch.
const towerBlock = 256

// A tower runs one image at a time on scratch that grows with the patches, never with their square. All activations are
// float32. Stages are in tower_embed.go, tower_layer.go and tower_pool.go.
type tower struct {
	b     *Backend
	cfg   core.TowerConfig
	max   int // patches that the scratch is for
	s     stream
	k     towerKernels
	freqs []float32

	patches, gridW, gridH int

	bytes            driver.Buffer // [P, PatchDim] uint8
	turn             driver.Buffer // [longest side, Dh/4] cosines and sines
	hidden           driver.Buffer // [P, Dv] residual stream
	query, key, val  driver.Buffer // [P, heads, Dh]; query becomes the attention's output
	normed, out      driver.Buffer // [block, Dv]; normed holds patches too
	gate, up         driver.Buffer // [block, F]
	pooled           driver.Buffer // [P/k^2, Dv]
	soft             driver.Buffer // [P/k^2, D]
	projector        driver.Buffer // a copy, made when it is first seen
	buffers, wrapped []driver.Buffer

	at struct {
		norm      shaders.NormParams
		dense     shaders.DenseParams
		heads     shaders.TowerHeadsParams
		positions shaders.PositionParams
	}
}

type towerKernels struct {
	pixels, positions, heads, attend, dense, geglu, pool, norm, normAdd *kernel

	affine map[int]*kernel // by bits
}

// NewTower checks cfg and allocates scratch for maxPatches patches. Errors wrap ErrImages or ErrShape, or are the device's.
func (b *Backend) NewTower(cfg core.TowerConfig, maxPatches int) (core.Tower, error) {
	if err := b.Images(); err != nil {
		return nil, err
	}
	if err := checkTower(cfg, maxPatches); err != nil {
		return nil, err
	}
	t := &tower{b: b, cfg: cfg, max: maxPatches, s: b.stream("tower")}
	t.freqs = frequencies(cfg.RopeTheta, cfg.HeadDim/2, cfg.HeadDim/4)
	err := t.loadKernels()
	if err == nil {
		err = t.allocate()
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func checkTower(c core.TowerConfig, maxPatches int) error {
	var s shapeCheck
	s.want(c.Heads > 0 && c.Hidden == c.Heads*c.HeadDim, "width %d, %d heads of %d", c.Hidden, c.Heads, c.HeadDim)
	s.want(slices.Contains(shaders.TowerWidths, c.HeadDim), "heads of %d, want one of %v", c.HeadDim, shaders.TowerWidths)
	s.want(c.PatchDim > 0 && c.Width > 0, "patches of %d, FFN width %d: want both positive", c.PatchDim, c.Width)
	s.want(c.Hidden%groupSize == 0, "width %d, want a multiple of %d for the projector", c.Hidden, groupSize)
	s.want(c.Pool > 0 && c.PositionRows > 0 && maxPatches > 0, "pooling %d, %d position rows, %d patches: want all positive",
		c.Pool, c.PositionRows, maxPatches)
	return joinProblems("metal: tower", s.problems)
}

func (t *tower) loadKernels() error {
	s := kernelSet{b: t.b}
	dense, attend := "dense_simd", "tower_attend"
	if t.b.foreign {
		dense = "dense" // elsewhere 8x8 products of floats are made of shuffles
	}
	if tower, _ := t.b.useTensors(); tower {
		dense, attend = "dense_tensor", "tower_attend_tensor"
	}
	t.k = towerKernels{
		pixels: s.get("pixels"), positions: s.get("positions"), heads: s.get("tower_heads"),
		attend: s.get(fmt.Sprintf("%s_d%d", attend, t.cfg.HeadDim)), dense: s.get(dense), geglu: s.get("geglu"),
		pool: s.get("pool"), norm: s.get("rmsnorm"), normAdd: s.get("rmsnorm_add"),
		affine: map[int]*kernel{4: s.get("affine_int4_r8"), 8: s.get("affine_int8_r8")},
	}
	return s.err()
}

func (t *tower) allocate() error {
	for _, p := range t.scratch() {
		b, err := t.b.device.NewBuffer(p.bytes)
		if err != nil {
			return fmt.Errorf("metal: %s: %w", p.label, err)
		}
		b.SetLabel(p.label)
		*p.buffer = b
		t.buffers = append(t.buffers, b)
	}
	return nil
}

// use wraps a tensor of the pack for the stage that is being encoded, and returns where it lies, in elements.
func (t *tower) use(v core.Vector, n int) (argument, uint32, error) {
	if len(v) != 2*n {
		panic(fmt.Sprintf("BUG: metal: tower: a tensor of %d bytes, want %d bf16 values", len(v), n))
	}
	w, err := t.b.wrap(v)
	if err != nil {
		return argument{}, 0, err
	}
	t.wrapped = append(t.wrapped, w.buffer)
	at, _ := w.offset(v)
	return in(w.buffer), at / 2, nil
}

// finish sends a stage off. The device keeps wrapped memory alive until the work is over; the caller keeps it mapped.
func (t *tower) finish(err error) error {
	t.s.commit()
	for _, b := range t.wrapped {
		b.Free()
	}
	t.wrapped = t.wrapped[:0]
	if err != nil {
		return err
	}
	return t.s.err
}

// dense encodes y = W x for rows; w is [outputs, inputs].
func (t *tower) dense(w core.Vector, inputs, outputs, rows int, x, y argument) error {
	weights, at, err := t.use(w, inputs*outputs)
	if err != nil {
		return err
	}
	t.at.dense = shaders.DenseParams{Weight: at, Inputs: u32(inputs), Outputs: u32(outputs), Rows: u32(rows)}
	grid := driver.D2(ceil(outputs, shaders.DenseTile), ceil(rows, shaders.DenseTile)) // dense_tensor has the same tiles
	t.s.dispatch(t.k.dense, grid, weights, x, y, inBytes(shaders.Bytes(&t.at.dense)))
	return nil
}

// norm encodes rmsnorm or rmsnorm_add with weight w for rows of Dv.
func (t *tower) norm(k *kernel, w core.Vector, rows int, x, y argument) error {
	weights, at, err := t.use(w, t.cfg.Hidden)
	if err != nil {
		return err
	}
	t.at.norm = shaders.NormParams{Width: u32(t.cfg.Hidden), Eps: t.cfg.RMSNormEps, Weight: at, Weighted: 1}
	t.s.dispatch(k, driver.D1(rows), weights, x, y, inBytes(shaders.Bytes(&t.at.norm)))
	return nil
}

// Drain waits until all queued work has passed, and forgets a failure after returning it.
func (t *tower) Drain() error { return t.s.reset() }

// Close waits for queued work and frees the scratch.
func (t *tower) Close() error {
	err := t.Drain()
	for _, b := range t.buffers {
		b.Free()
	}
	if t.projector != nil {
		t.projector.Free()
	}
	t.buffers, t.projector = nil, nil
	return err
}
