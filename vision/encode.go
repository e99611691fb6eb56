package vision

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/fieldfare/fieldfare/core"
)

// Encoded is the account of one picture that went through the tower.
type Encoded struct {
	Name    string // the media's
	Receipt Receipt
	Tower   time.Duration
}

// encode makes the soft tokens of pictures, one picture after another: decoding, then the tower. It implements
// core.EncodeFunc; progress counts a step for each decoding and for each group of the tower's tensors.
//
// On demand, expert slots are given back first, decoded pictures are gone before the tower's scratch is taken, and
// what decoding has left on the heap goes back to the system before the slots return.
func (x *Extension) encode(
	ctx context.Context, media []core.Media, progress func(done, total int),
) ([][]float32, error) {
	if x.opts.Residency == OnDemand {
		if err := x.runtime.ReleaseExperts(); err != nil {
			return nil, fmt.Errorf("release the experts: %w", err)
		}
		defer debug.FreeOSMemory()
	}
	done, total := 0, len(media)*(1+x.pack.Groups())
	progress(done, total)
	step := func() {
		done++
		progress(done, total)
	}
	rows := make([][]float32, len(media))
	for i, m := range media {
		var err error
		if rows[i], err = x.encodeOne(ctx, m, step); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return rows, nil
}

func (x *Extension) encodeOne(ctx context.Context, m core.Media, step func()) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plan, err := x.plan(m)
	if err != nil {
		return nil, err
	}
	p, err := plan.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	if x.opts.Residency == OnDemand {
		debug.FreeOSMemory() // what decoding used, before the tower's scratch comes on top
	}
	step()
	start := time.Now()
	rows, err := x.runTower(ctx, p, step)
	if err != nil {
		return nil, err
	}
	if x.opts.Encoded != nil {
		x.opts.Encoded(Encoded{Name: m.Name, Receipt: p.Receipt, Tower: time.Since(start)})
	}
	return rows, nil
}

// runTower returns the soft tokens of p, [SoftTokens, D].
func (x *Extension) runTower(ctx context.Context, p *Prepared, step func()) (rows []float32, err error) {
	tower, err := x.backend.NewTower(x.tower, p.GridW*p.GridH)
	if err != nil {
		return nil, fmt.Errorf("image tower for %d patches: %w", p.GridW*p.GridH, err)
	}
	rows = make([]float32, p.SoftTokens*x.tower.TextHidden)
	defer func() {
		// In this order: no region is unmapped that queued work still reads.
		err = errors.Join(err, tower.Drain(), x.regions.release(), tower.Close())
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	for g := range x.pack.Groups() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := x.runGroup(tower, g, p, rows); err != nil {
			return nil, fmt.Errorf("image tower: %s: %w", x.groupName(g), err)
		}
		step()
	}
	return rows, checkFinite(rows, x.tower.TextHidden)
}

// runGroup runs what needs the tensors of group g, and waits for it.
func (x *Extension) runGroup(tower core.Tower, g int, p *Prepared, rows []float32) error {
	region, err := x.regions.use(g)
	if err != nil {
		return err
	}
	switch {
	case g == 0:
		err = tower.Embed(p.Patches, p.GridW, p.GridH, bindEmbedding(region))
	case g <= x.tower.Layers:
		err = tower.Layer(bindLayer(region, g-1))
	default:
		if err = tower.Pool(bindPooling(region)); err == nil {
			err = tower.Project(bindProjector(region, &x.tower), rows)
		}
	}
	if err == nil {
		err = tower.Drain()
	}
	if err != nil {
		return err
	}
	return x.regions.done(g)
}

func (x *Extension) groupName(g int) string {
	switch {
	case g == 0:
		return "patch embedding"
	case g <= x.tower.Layers:
		return fmt.Sprintf("layer %d", g-1)
	}
	return "pooling and projection"
}

// checkFinite looks for values that no picture should give. The text model would turn them into noise or nothing.
func checkFinite(rows []float32, width int) error {
	for i, v := range rows {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("soft token %d of %d holds %v: %w", i/width, len(rows)/width, v, ErrNonFinite)
		}
	}
	return nil
}
