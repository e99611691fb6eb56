package cpu

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
)

// pixels maps a byte to [-1, 1] as the processor and the model do in float32: 2*(v*(1/255) - 0.5).
var pixels = func() (table [256]float32) {
	for v := range table {
		table[v] = 2 * (float32(float32(v)*float32(1.0/255)) - 0.5)
	}
	return table
}()

// Embed projects the patches and adds the position rows of their column and line.
func (t *tower) Embed(patches []byte, gridW, gridH int, w core.TowerEmbedding) error {
	if err := t.setGrid(gridW, gridH); err != nil {
		return err
	}
	c := &t.cfg
	if len(patches) != t.patches*c.PatchDim || len(w.Patch) != 2*c.Hidden*c.PatchDim ||
		len(w.Position) != 4*c.PositionRows*c.Hidden {
		panic(fmt.Sprintf("BUG: cpu: tower: %d bytes of %d patches, %d and %d bytes of weights",
			len(patches), t.patches, len(w.Patch), len(w.Position)))
	}
	t.at.patches, t.at.embedding = patches, w
	for base := 0; base < t.patches; base += towerBlock {
		rows := min(towerBlock, t.patches-base)
		t.at.base = base
		t.eachRow(rows, (*tower).widenPatch)
		t.dense.input(t.normed, c.PatchDim, rows).add(w.Patch, t.hidden[base*c.Hidden:]).run(t.pool)
	}
	t.eachRow(t.patches, (*tower).addPosition)
	return nil
}

func (t *tower) widenPatch(_, row int) {
	n := t.cfg.PatchDim
	dst := t.normed[row*n:][:n]
	for i, v := range t.at.patches[(t.at.base+row)*n:][:n] {
		dst[i] = pixels[v]
	}
}

// addPosition adds Table[0][x] + Table[1][y]; the two rows are summed first, as in the reference.
func (t *tower) addPosition(_, patch int) {
	c := &t.cfg
	x, y := patch%t.gridW, c.PositionRows+patch/t.gridW
	for i := range t.hiddenRow(patch) {
		t.hidden[patch*c.Hidden+i] += vectorAt(t.at.embedding.Position, x*c.Hidden+i) +
			vectorAt(t.at.embedding.Position, y*c.Hidden+i)
	}
}
