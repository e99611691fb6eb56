package vision

import (
	"context"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/visionpack"
)

var _ core.Needer = (*Extension)(nil)

// decodeBytes is what decoding a picture of the largest admitted size holds, its encoded bytes included: the limit on
// decoded bytes, and as much again as files usually are.
const decodeBytes = 200_000_000 + 16<<20

// A towerSizer is a backend that says beforehand what a tower's scratch takes.
type towerSizer interface {
	TowerScratchBytes(cfg core.TowerConfig, maxPatches int) int64
}

// Need implements core.Needer. Decoding and tower take their memory one after the other; patches and soft tokens are
// held in both.
func (x *Extension) Need(ctx context.Context, path string, backend core.Backend) (core.Need, error) {
	text, err := visionpack.ReadText(path)
	if err != nil {
		return core.Need{}, nil // Init will say why
	}
	packPath := x.opts.Pack
	if packPath == "" {
		if packPath, err = visionpack.Path(path); err != nil {
			return core.Need{}, nil
		}
	}
	pack, err := visionpack.Open(ctx, packPath, text)
	if err != nil {
		return core.Need{}, ctx.Err()
	}
	defer pack.Close()
	t := pack.Tower()
	budget := x.opts.Budget
	if budget == 0 {
		budget = pack.Processor().MaxSoftTokens
	}
	span := max(budget, x.opts.MaxBudget)
	patches := span * t.Pool * t.Pool
	need := core.Need{Span: span}
	all, pair := pack.Sizes()
	tower := pair
	if x.opts.Residency == KeepReady {
		need.Kept, tower = all, 0
	}
	if s, ok := backend.(towerSizer); ok {
		tower += s.TowerScratchBytes(towerConfig(t), patches)
	}
	held := int64(patches*t.PatchDim()) + 4*int64(span*t.TextHidden)
	need.Encoding = max(tower, decodeBytes) + held
	return need, nil
}
