//go:build !noasm

package cpu

const (
	// outerDepth is the inputs whose weights are widened at a time: 24 KiB of the first-level cache, which leaves room for
	// four rows of activations.
	outerDepth = 256
	// outerRows is the most rows that widened weights meet before the next ones take their place.
	outerRows = 384
)

// avx2Outer takes four rows at a time.
func avx2Outer(o outerCall) {
	add := 0
	if o.add {
		add = 1
	}
	fours := o.rows / 4
	if fours > 0 {
		avx2OuterTile4(&o.y[0], 4*o.ldy, &o.x[0], 4*o.ldx, &o.w[0], o.depth, fours, add)
	}
	if r := 4 * fours; r < o.rows {
		avx2OuterTile1(&o.y[r*o.ldy], 4*o.ldy, &o.x[r*o.ldx], 4*o.ldx, &o.w[0], o.depth, o.rows-r, add)
	}
}

// avx2Dense transposes the weights of a panel as it widens them. Sums begin anew every outerDepth inputs, and all panels
// of the call pass before the next inputs come: the rows' part of these stays in the second-level cache.
func avx2Dense(d denseCall) {
	weights, edge := d.scratch[:outerDepth*outerOutputs], d.scratch[outerDepth*outerOutputs:]
	whole := d.lo + (d.hi-d.lo)/outerOutputs*outerOutputs // from here on less than a panel
	for first := 0; first < d.rows; first += outerRows {
		call := outerCall{rows: min(outerRows, d.rows-first), ldx: d.ldx, w: weights}
		y := d.y[first*d.ldy:]
		for at := 0; at < d.in; at += outerDepth {
			call.x, call.depth, call.add = d.x[first*d.ldx+at:], min(outerDepth, d.in-at), at > 0
			for o := d.lo; o < d.hi; o += outerOutputs {
				call.y, call.ldy = y[o-d.lo:], d.ldy
				if o == whole {
					call.y, call.ldy = edge, outerOutputs
				}
				widenPanel(weights, d, o, at, call.depth)
				avx2Outer(call)
			}
		}
		if whole < d.hi {
			for r := range call.rows {
				copy(y[r*d.ldy+whole-d.lo:][:d.hi-whole], edge[r*outerOutputs:])
			}
		}
	}
}

// widenPanel writes n weights from at on of the panel of outputs o on. Outputs that do not exist repeat the last.
func widenPanel(dst []float32, d denseCall, o, at, n int) {
	for i := 0; i < outerOutputs; i += 8 {
		first := min(o+i, d.hi-1)
		var rows [8]int
		for j := range rows {
			rows[j] = 2 * d.in * min(j, d.hi-1-first)
		}
		avx2Columns(&dst[i], &d.w[2*(first*d.in+at)], &rows, n/8)
	}
}
