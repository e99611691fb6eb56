package metal

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/shaders"
)

// Head writes the softcapped logits of rows and waits: the final norm, then the token table as matrix.
func (e *executor) Head(b *core.Batch, rows []int, dst []float32) error {
	c := &e.w.Config
	norm := shaders.NormParams{Width: u32(c.Hidden), Eps: c.RMSNormEps, Weighted: 1}
	at, _ := e.region.offset(e.w.Norm)
	norm.Weight = at / 2
	head := single(e.at.embed.Table, c.Vocab, c.Hidden)
	head.Limit = c.LogitSoftcap
	for len(rows) > 0 {
		n := min(len(rows), shaders.ProductRows)
		if err := e.grow(&e.logits, 4*n*c.Vocab, "logits"); err != nil {
			return err
		}
		e.s.label = "head"
		for i, row := range rows[:n] {
			e.normRows(e.k.norm, &norm, 1, inAt(e.residual, 4*row*c.Hidden), inAt(e.out, 4*i*c.Hidden))
		}
		e.product(&head, e.w.Embed.Bits, n, in(e.out), in(e.logits))
		e.commit()
		if err := e.s.wait(); err != nil {
			return err
		}
		copy(dst, floats(e.logits)[:n*c.Vocab])
		rows, dst = rows[n:], dst[n*c.Vocab:]
	}
	return nil
}
