//go:build !noasm

package cpu

// avx2Dense multiplies panels of widened weights with tiles of rows, for one row as for many.
func avx2Dense(d denseCall) {
	for first := 0; first < d.rows; first += tileRows {
		part := d
		part.rows = min(tileRows, d.rows-first)
		part.x, part.y = d.x[first*d.ldx:], d.y[first*d.ldy:]
		for o := d.lo; o < d.hi; o += panelOutputs {
			avx2DensePanel(part, o)
		}
	}
}

func avx2DensePanel(d denseCall, o int) {
	s := dividePanel(d.scratch, d.rows, 0)
	outputs := min(panelOutputs, d.hi-o)
	clear(s.sums)
	threes, twos, ones := tileCounts(d.rows)
	for at := 0; at < d.in; at += panelWidth {
		steps := min(panelWidth, d.in-at) / 8
		for m := range outputs {
			avx2Widen(&s.weights[m*panelWidth], &d.w[2*((o+m)*d.in+at)], steps)
		}
		x, t, w := d.x[at:], s.sums, &s.weights[0]
		if threes > 0 {
			avx2DenseTile3(&t[0], w, &x[0], 4*d.ldx, steps, threes)
		}
		if twos > 0 {
			avx2DenseTile2(&t[32*3*threes], w, &x[3*threes*d.ldx], 4*d.ldx, steps, twos)
		}
		if ones > 0 {
			avx2DenseTile1(&t[0], w, &x[0], 4*d.ldx, steps, ones)
		}
	}
	storePanel(d.y[o-d.lo:], d.ldy, s.sums, d.rows, outputs)
}
