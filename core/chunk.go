package core

// nextChunk returns the end of the chunk that starts at lo: size rows, cut before a span that would not fit whole.
// A span longer than size gets a chunk of its own.
func nextChunk(spans []Span, lo, end, size int) int {
	hi := min(lo+size, end)
	for _, s := range spans {
		if s.Lo < hi && hi < s.Hi {
			if s.Lo > lo {
				return s.Lo
			}
			return s.Hi
		}
	}
	return hi
}

// SpanMask says which rows see ahead inside a span. The zero value is the model's own rule.
type SpanMask int

const (
	// SpanSliding: rows of one span see each other in sliding layers; full layers are causal.
	SpanSliding SpanMask = iota
	// SpanEverywhere: in full layers too, as mlx-vlm does. For parity tests.
	SpanEverywhere
	// SpanCausal: no row sees ahead. For measuring what the mask is worth.
	SpanCausal
)

// fill makes b the batch of positions [lo, hi) of p. soft holds the rows of each of p's spans from position lo on;
// an entry may be nil for a span before lo.
func (b *Batch) fill(p *Prompt, lo, hi int, mask SpanMask, soft [][]float32, width int) {
	b.Tokens = append(b.Tokens[:0], p.Tokens[lo:hi]...)
	b.causal(lo, hi-lo)
	for i, s := range p.Spans {
		if s.Hi <= lo || s.Lo >= hi {
			continue
		}
		if s.Lo < lo || s.Hi > hi {
			panic("BUG: core: a chunk splits a span")
		}
		for pos := s.Lo; pos < s.Hi; pos++ {
			row := pos - lo
			if mask != SpanCausal {
				b.SlidingEnd[row] = s.Hi
			}
			if mask == SpanEverywhere {
				b.FullEnd[row] = s.Hi
			}
			b.Soft = append(b.Soft, SoftRow{Row: row, Data: soft[i][(pos-s.Lo)*width:][:width]})
		}
	}
}

// fillToken makes b the batch of one token at pos.
func (b *Batch) fillToken(id int32, pos int) {
	b.Tokens = append(b.Tokens[:0], id)
	b.causal(pos, 1)
}

// causal sets n rows from position pos on that see what precedes them, and no soft rows.
func (b *Batch) causal(pos, n int) {
	b.Pos = pos
	b.SlidingEnd, b.FullEnd, b.Soft = b.SlidingEnd[:0], b.FullEnd[:0], b.Soft[:0]
	for row := range n {
		b.SlidingEnd = append(b.SlidingEnd, pos+row+1)
		b.FullEnd = append(b.FullEnd, pos+row+1)
	}
}
