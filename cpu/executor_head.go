package cpu

import "github.com/fieldfare/fieldfare/core"

// Head writes the softcapped logits of rows: the final norm, then the token table as matrix (without its factor).
func (e *executor) Head(_ *core.Batch, rows []int, dst []float32) error {
	c := &e.w.Config
	normed := e.worker[0][:c.Hidden]
	for len(rows) > 0 {
		n := min(rowBlock, len(rows), e.opts.MaxRows)
		for i, row := range rows[:n] {
			e.k.norm(normed, e.residualRow(row), e.w.Norm, c.RMSNormEps)
			e.fine.k.pack(e.packedRow(i), normed, e.w.Embed.Bits)
		}
		job := e.fineInput(n).add(e.w.Embed, dst, c.Vocab)
		job.limit = c.LogitSoftcap
		job.run(e.pool)
		rows, dst = rows[n:], dst[n*c.Vocab:]
	}
	return nil
}
