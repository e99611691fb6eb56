package metal

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
)

var _ core.ScratchSizer = (*Backend)(nil)

// A part is one buffer of scratch: where it goes and how long it is.
type part struct {
	buffer *driver.Buffer
	bytes  int
	label  string
}

// scratch lists the buffers that the model's dimensions and the number of rows take. Those that depend on the length of
// the sequence, on soft tokens or on how many rows want logits are made on demand.
func (e *executor) scratch() []part {
	c, rows, stride := &e.w.Config, e.opts.MaxRows, 0
	for _, l := range c.Layers {
		kv := 2
		if l.ValueFromKey {
			kv = 1
		}
		stride = max(stride, (c.Heads+kv*l.KVHeads)*l.HeadDim)
	}
	parts := []part{
		{&e.residual, 4 * rows * c.Hidden, "residual"}, {&e.normed, 4 * rows * c.Hidden, "normed"},
		{&e.qkv, 4 * rows * stride, "qkv"}, {&e.out, 4 * rows * c.Hidden, "out"},
		{&e.act, 4 * rows * c.SharedWidth, "act"}, {&e.shared, 4 * rows * c.Hidden, "shared"},
		{&e.expertIn, 4 * rows * c.Hidden, "expert input"}, {&e.scores, 4 * rows * c.Experts, "scores"},
		{&e.chosen, 4 * rows * c.TopK, "chosen"}, {&e.shares, 4 * rows * c.TopK, "shares"},
		{&e.pickAct, 4 * maxPicks * c.ExpertWidth, "pick act"}, {&e.routed, 4 * rows * c.TopK * c.Hidden, "routed"},
	}
	for i := range e.chunks {
		parts = append(parts, e.chunks[i].scratch(c, rows)...)
	}
	return parts
}

func bytesOf(parts []part) int64 {
	n := int64(0)
	for _, p := range parts {
		n += int64(p.bytes)
	}
	return n
}

// ScratchBytes is what NewExecutor allocates for a model of these dimensions.
func (b *Backend) ScratchBytes(cfg *core.Config, opts core.ExecutorOptions) int64 {
	e := &executor{w: &core.Weights{Config: *cfg}, opts: opts}
	return bytesOf(e.scratch())
}

// scratch lists the buffers of a tower.
func (t *tower) scratch() []part {
	c := &t.cfg
	block, tokens := min(t.max, towerBlock), ceil(t.max, c.Pool*c.Pool)
	side := min(t.max, c.PositionRows)
	return []part{
		{&t.bytes, t.max * c.PatchDim, "patches"}, {&t.turn, 8 * side * (c.HeadDim / 4), "tower turns"},
		{&t.hidden, 4 * t.max * c.Hidden, "tower hidden"}, {&t.query, 4 * t.max * c.Hidden, "tower query"},
		{&t.key, 4 * t.max * c.Hidden, "tower key"}, {&t.val, 4 * t.max * c.Hidden, "tower value"},
		{&t.normed, 4 * block * max(c.Hidden, c.PatchDim), "tower normed"}, {&t.out, 4 * block * c.Hidden, "tower out"},
		{&t.gate, 4 * block * c.Width, "tower gate"}, {&t.up, 4 * block * c.Width, "tower up"},
		{&t.pooled, 4 * tokens * c.Hidden, "pooled"}, {&t.soft, 4 * tokens * c.TextHidden, "soft tokens"},
	}
}

// TowerScratchBytes is what NewTower allocates; 0 for a tower that it refuses.
func (b *Backend) TowerScratchBytes(cfg core.TowerConfig, maxPatches int) int64 {
	if b.Images() != nil || checkTower(cfg, maxPatches) != nil {
		return 0
	}
	t := &tower{cfg: cfg, max: maxPatches}
	return bytesOf(t.scratch())
}
