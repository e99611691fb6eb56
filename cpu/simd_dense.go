//go:build (amd64 || arm64) && !noasm

package cpu

// simdDense multiplies panels of widened weights with tiles of rows, for one row as for many.
func simdDense(d denseCall) {
	for first := 0; first < d.rows; first += tileRows {
		part := d
		part.rows = min(tileRows, d.rows-first)
		part.x, part.y = d.x[first*d.ldx:], d.y[first*d.ldy:]
		for o := d.lo; o < d.hi; o += panelOutputs {
			simdDensePanel(part, o)
		}
	}
}

func simdDensePanel(d denseCall, o int) {
	s := dividePanel(d.scratch, d.rows, 0)
	outputs := min(panelOutputs, d.hi-o)
	clear(s.sums)
	for at := 0; at < d.in; at += panelWidth {
		n := min(panelWidth, d.in-at)
		for m := range outputs {
			simdWiden(&s.weights[m*panelWidth], &d.w[2*((o+m)*d.in+at)], n/8)
		}
		denseTiles(s.sums, s.weights, panelWidth, d.x[at:], d.ldx, n, d.rows)
	}
	storePanel(d.y[o-d.lo:], d.ldy, s.sums, d.rows, outputs)
}
