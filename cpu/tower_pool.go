package cpu

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/core"
)

// pooledRows is the number of soft tokens of the current image.
func (t *tower) pooledRows() int { return t.patches / (t.cfg.Pool * t.cfg.Pool) }

// Pool means k by k patches, scales by sqrt(Dv) and standardises: (x - bias) * scale.
func (t *tower) Pool(w core.TowerPooling) error {
	t.at.pooling = w
	t.eachRow(t.pooledRows(), (*tower).poolSquare)
	return nil
}

func (t *tower) poolSquare(_, n int) {
	c := &t.cfg
	out := t.pooled[n*c.Hidden:][:c.Hidden]
	clear(out)
	perRow := t.gridW / c.Pool
	left, top := n%perRow*c.Pool, n/perRow*c.Pool
	for y := top; y < top+c.Pool; y++ {
		for x := left; x < left+c.Pool; x++ {
			t.k.combine(out, 1, 1, t.hiddenRow(y*t.gridW+x))
		}
	}
	area, root := float32(c.Pool*c.Pool), float32(math.Sqrt(float64(c.Hidden)))
	for i, sum := range out {
		scaled := float32(sum / area * root)
		out[i] = (scaled - vectorAt(t.at.pooling.Bias, i)) * vectorAt(t.at.pooling.Scale, i)
	}
}

// Pooled copies the standardised rows.
func (t *tower) Pooled(dst []float32) error {
	copy(dst, t.pooled[:t.pooledRows()*t.cfg.Hidden])
	return nil
}

// Project norms the pooled rows, without a weight, and multiplies them with the projector: the soft tokens.
func (t *tower) Project(w core.Affine, dst []float32) error {
	var s shapeCheck
	s.affine("embedding_projection", w, t.cfg.TextHidden, t.cfg.Hidden)
	if err := joinProblems("cpu: tower", s.problems); err != nil {
		return err
	}
	if len(dst) < t.pooledRows()*w.Out {
		panic(fmt.Sprintf("BUG: cpu: tower: %d elements for %d soft tokens of %d", len(dst), t.pooledRows(), w.Out))
	}
	width := packedLen(t.cfg.Hidden)
	normed := t.worker[0][:t.cfg.Hidden]
	for base := 0; base < t.pooledRows(); base += rowBlock {
		rows := min(rowBlock, t.pooledRows()-base)
		for i := range rows {
			t.k.norm(normed, t.pooled[(base+i)*t.cfg.Hidden:][:t.cfg.Hidden], nil, t.cfg.RMSNormEps)
			t.affine.k.pack(t.packed[i*width:][:width], normed, w.Bits)
		}
		t.affine.input(t.packed, width, rows).add(w, dst[base*w.Out:], w.Out).run(t.pool)
	}
	return nil
}
