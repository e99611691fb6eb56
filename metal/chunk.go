package metal

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// A chunk is what the CPU hands over for one batch. Two are used in turn: when one is written again, its last work has
// been waited for by the route of the batch between.
type chunk struct {
	tokens                  driver.Buffer // [MaxRows]
	slidingEnd, fullEnd     driver.Buffer // [MaxRows]
	slidingTurn, fullTurn   driver.Buffer // [MaxRows, pairs] cosines and sines
	soft                    driver.Buffer // [rows, D]; made on demand
	slidingFreqs, fullFreqs []float32
	used                    *ticket // the last work that reads it
}

// scratch lists the buffers for so many rows, and finds the frequencies.
func (c *chunk) scratch(cfg *core.Config, rows int) []part {
	for _, l := range cfg.Layers {
		if l.Full {
			c.fullFreqs = frequencies(cfg.FullRopeTheta, l.HeadDim, cfg.FullRotary)
		} else {
			c.slidingFreqs = frequencies(cfg.RopeTheta, l.HeadDim, l.HeadDim/2)
		}
	}
	return []part{
		{&c.tokens, 4 * rows, "tokens"}, {&c.slidingEnd, 4 * rows, "sliding ends"}, {&c.fullEnd, 4 * rows, "full ends"},
		{&c.slidingTurn, 8 * rows * max(1, len(c.slidingFreqs)), "sliding turns"},
		{&c.fullTurn, 8 * rows * max(1, len(c.fullFreqs)), "full turns"},
	}
}

// frequencies are theta^(-2i/dim), i < pairs. In full layers pairs is less than dim/2, and the exponent's denominator
// is the whole head all the same.
func frequencies(theta float64, dim, pairs int) []float32 {
	f := make([]float32, pairs)
	for i := range f {
		f[i] = float32(1 / math.Pow(theta, float64(2*i)/float64(dim)))
	}
	return f
}

// fillTurns writes cosine and sine of rows positions from pos on. The angle is a float32 product, as the references form
// it; its sine and cosine are accurate, which is why the CPU makes them.
func fillTurns(dst, freqs []float32, pos, rows int) {
	for r := range rows {
		for i, f := range freqs {
			s, c := math.Sincos(float64(float32(pos+r) * f))
			dst[2*(r*len(freqs)+i)], dst[2*(r*len(freqs)+i)+1] = float32(c), float32(s)
		}
	}
}

// fill writes the batch, once the work that reads the chunk's former content is over.
func (c *chunk) fill(b *core.Batch) {
	if c.used != nil {
		c.used.Wait()
		c.used = nil
	}
	n := len(b.Tokens)
	tokens, sliding, full := words(c.tokens), words(c.slidingEnd), words(c.fullEnd)
	for i := range n {
		tokens[i], sliding[i], full[i] = u32(int(b.Tokens[i])), u32(b.SlidingEnd[i]), u32(b.FullEnd[i])
	}
	fillTurns(floats(c.slidingTurn), c.slidingFreqs, b.Pos, n)
	fillTurns(floats(c.fullTurn), c.fullFreqs, b.Pos, n)
}

// Embed hands the batch over and fills the residual stream.
func (e *executor) Embed(b *core.Batch) error {
	e.checkBatch(b)
	if e.chunk == &e.chunks[0] {
		e.chunk = &e.chunks[1]
	} else {
		e.chunk = &e.chunks[0]
	}
	e.chunk.fill(b)
	e.s.label = "embed, layer 0: attend and route"
	d := e.w.Config.Hidden
	e.s.dispatchThreads(e.k.embed, driver.D2(d/4, len(b.Tokens)), in(e.region.buffer), in(e.chunk.tokens), in(e.residual),
		inBytes(shaders.Bytes(&e.at.embed)))
	if len(b.Soft) > 0 {
		if err := e.embedSoft(b.Soft); err != nil {
			return err
		}
	}
	return e.end()
}

// embedSoft puts soft rows in place of the table's.
func (e *executor) embedSoft(soft []core.SoftRow) error {
	row := 4 * e.w.Config.Hidden
	if err := e.grow(&e.chunk.soft, len(soft)*row, "soft rows"); err != nil {
		return err
	}
	staged := floats(e.chunk.soft)
	var copies []copyRange
	for i, s := range soft {
		copy(staged[i*row/4:][:row/4], s.Data)
		if n := len(copies); n > 0 && copies[n-1].dstOffset+copies[n-1].n == s.Row*row {
			copies[n-1].n += row
			continue
		}
		copies = append(copies, copyRange{dst: e.residual, dstOffset: s.Row * row, src: e.chunk.soft, srcOffset: i * row, n: row})
	}
	e.s.copyRows(copies...)
	return nil
}

func (e *executor) checkBatch(b *core.Batch) {
	n := len(b.Tokens)
	if n < 1 || n > e.opts.MaxRows || len(b.SlidingEnd) != n || len(b.FullEnd) != n {
		panic(fmt.Sprintf("BUG: metal: batch of %d tokens, %d and %d ends; executor of %d rows",
			n, len(b.SlidingEnd), len(b.FullEnd), e.opts.MaxRows))
	}
	for _, id := range b.Tokens {
		if id < 0 || int(id) >= e.w.Config.Vocab {
			panic(fmt.Sprintf("BUG: metal: token %d of a vocabulary of %d", id, e.w.Config.Vocab))
		}
	}
}

// commit sends the open work; it is the last so far that reads the chunk.
func (e *executor) commit() *ticket {
	t := e.s.commit()
	e.chunk.used = t
	return t
}
