package metal

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// setGrid takes the size of the next image.
func (t *tower) setGrid(gridW, gridH int) error {
	k := t.cfg.Pool
	if gridW < 1 || gridH < 1 || gridW%k != 0 || gridH%k != 0 || gridW*gridH > t.max {
		return fmt.Errorf("metal: tower: grid of %d by %d patches, want multiples of %d and at most %d patches: %w",
			gridW, gridH, k, t.max, ErrShape)
	}
	if side := max(gridW, gridH); side > t.cfg.PositionRows {
		return fmt.Errorf("metal: tower: grid side %d, position table of %d rows: %w", side, t.cfg.PositionRows, ErrShape)
	}
	t.gridW, t.gridH, t.patches = gridW, gridH, gridW*gridH
	return nil
}

// Embed hands the patches over, projects them and adds the position rows of their column and line. It waits for the
// image before, whose bytes it overwrites.
func (t *tower) Embed(patches []byte, gridW, gridH int, w core.TowerEmbedding) error {
	if err := t.setGrid(gridW, gridH); err != nil {
		return err
	}
	c := &t.cfg
	if len(patches) != t.patches*c.PatchDim {
		panic(fmt.Sprintf("BUG: metal: tower: %d bytes of %d patches", len(patches), t.patches))
	}
	if err := t.s.wait(); err != nil {
		return err
	}
	copy(t.bytes.Bytes(), patches)
	fillTurns(floats(t.turn), t.freqs, 0, max(gridW, gridH))
	t.s.label = "tower embed"
	return t.finish(t.encodeEmbed(w))
}

func (t *tower) encodeEmbed(w core.TowerEmbedding) error {
	c := &t.cfg
	for base := 0; base < t.patches; base += towerBlock {
		rows := min(towerBlock, t.patches-base)
		t.s.dispatchThreads(t.k.pixels, driver.D1(rows*c.PatchDim), inAt(t.bytes, base*c.PatchDim), in(t.normed))
		if err := t.dense(w.Patch, c.PatchDim, c.Hidden, rows, in(t.normed), inAt(t.hidden, 4*base*c.Hidden)); err != nil {
			return err
		}
	}
	table, at, err := t.use(w.Position, 2*c.PositionRows*c.Hidden)
	if err != nil {
		return err
	}
	t.at.positions = shaders.PositionParams{
		Table: at, Width: u32(c.Hidden), Rows: u32(c.PositionRows), GridWidth: u32(t.gridW),
	}
	t.s.dispatchThreads(t.k.positions, driver.D2(c.Hidden, t.patches), table, in(t.hidden),
		inBytes(shaders.Bytes(&t.at.positions)))
	return nil
}
