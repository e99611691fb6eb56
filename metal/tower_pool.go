package metal

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// pooledRows is the number of soft tokens of the current image.
func (t *tower) pooledRows() int { return t.patches / (t.cfg.Pool * t.cfg.Pool) }

// Pool means k by k patches, scales by sqrt(Dv) and standardises: (x - bias) * scale.
func (t *tower) Pool(w core.TowerPooling) error {
	t.s.label = "tower pool"
	return t.finish(t.encodePool(w))
}

func (t *tower) encodePool(w core.TowerPooling) error {
	c := &t.cfg
	bias, biasAt, err := t.use(w.Bias, c.Hidden)
	if err != nil {
		return err
	}
	scale, scaleAt, err := t.use(w.Scale, c.Hidden)
	if err != nil {
		return err
	}
	p := shaders.PoolParams{
		Width: u32(c.Hidden), GridWidth: u32(t.gridW), Side: u32(c.Pool), Bias: biasAt, Scale: scaleAt,
		Root: float32(math.Sqrt(float64(c.Hidden))),
	}
	t.s.dispatchThreads(t.k.pool, driver.D2(c.Hidden, t.pooledRows()), bias, scale, in(t.hidden), in(t.pooled),
		inBytes(shaders.Bytes(&p)))
	return nil
}

// Pooled copies the standardised rows.
func (t *tower) Pooled(dst []float32) error {
	if err := t.s.wait(); err != nil {
		return err
	}
	copy(dst, floats(t.pooled)[:t.pooledRows()*t.cfg.Hidden])
	return nil
}

// Project norms the pooled rows, without a weight, multiplies them with the projector, and waits for the soft tokens.
func (t *tower) Project(w core.Affine, dst []float32) error {
	c, n := &t.cfg, t.pooledRows()
	if w.Out != c.TextHidden || w.In != c.Hidden || w.Bits != 4 && w.Bits != 8 {
		return fmt.Errorf("metal: tower: projector is [%d, %d] of %d bits, want [%d, %d] of 4 or 8: %w",
			w.Out, w.In, w.Bits, c.TextHidden, c.Hidden, ErrShape)
	}
	if len(dst) < n*w.Out {
		panic(fmt.Sprintf("BUG: metal: tower: %d elements for %d soft tokens of %d", len(dst), n, w.Out))
	}
	matrix, err := t.copyProjector(w)
	if err != nil {
		return err
	}
	t.s.label = "tower project"
	norm := shaders.NormParams{Width: u32(c.Hidden), Eps: c.RMSNormEps}
	product := single(matrix, w.Out, w.In)
	for base := 0; base < n; base += towerBlock {
		rows := min(towerBlock, n-base)
		t.s.dispatch(t.k.norm, driver.D1(rows), in(t.projector), inAt(t.pooled, 4*base*c.Hidden), in(t.out),
			inBytes(shaders.Bytes(&norm)))
		product.Rows = u32(rows)
		grid := driver.D2(ceil(w.Out, shaders.ProductSimds*shaders.ProductOutputs), ceil(rows, shaders.ProductRows))
		t.s.dispatch(t.k.affine[w.Bits], grid, in(t.projector), in(t.out), inAt(t.soft, 4*base*w.Out),
			inBytes(shaders.Bytes(&product)))
	}
	if err := t.s.wait(); err != nil {
		return err
	}
	copy(dst, floats(t.soft)[:n*w.Out])
	return nil
}

// copyProjector puts the projector's three parts, which may lie anywhere, into one buffer. It is a thousandth of the
// tower. Nothing queued reads the buffer: Project waits.
func (t *tower) copyProjector(w core.Affine) (shaders.Matrix, error) {
	scales := (len(w.Codes) + 3) &^ 3
	biases := scales + len(w.Scales)
	size := biases + len(w.Biases)
	if t.projector == nil || t.projector.Len() < size {
		b, err := t.b.device.NewBuffer(size)
		if err != nil {
			return shaders.Matrix{}, fmt.Errorf("metal: projector: %w", err)
		}
		if t.projector != nil {
			t.projector.Free()
		}
		b.SetLabel("projector")
		t.projector = b
	}
	dst := t.projector.Bytes()
	copy(dst, w.Codes)
	copy(dst[scales:], w.Scales)
	copy(dst[biases:], w.Biases)
	return shaders.Matrix{Scales: u32(scales), Biases: u32(biases)}, nil
}
