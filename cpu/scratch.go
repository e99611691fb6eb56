package cpu

import "github.com/fieldfare/fieldfare/core"

var _ core.ScratchSizer = (*Backend)(nil)

// ScratchBytes is what NewExecutor allocates for a model of these dimensions.
func (b *Backend) ScratchBytes(cfg *core.Config, opts core.ExecutorOptions) int64 {
	e := &executor{k: b.kern, w: &core.Weights{Config: *cfg}, opts: opts}
	e.layOut(b.threads)
	return int64(e.mem.size)
}

// TowerScratchBytes is what NewTower allocates; 0 for a tower that it refuses.
func (b *Backend) TowerScratchBytes(cfg core.TowerConfig, maxPatches int) int64 {
	if checkTower(cfg, maxPatches) != nil {
		return 0
	}
	t := &tower{k: b.kern, cfg: cfg, max: maxPatches}
	t.layOut(b.threads)
	return int64(t.mem.size)
}
