//go:build !noasm

package cpu

const (
	// denseRows is the most rows whose sums are kept at a time. A strip of their activations, 512 wide, stays in the
	// first-level cache while all outputs of the call pass.
	denseRows = 12
	// denseOutputs is the most outputs whose weights are widened at a time.
	denseOutputs = 16
)

// neonDense widens the weights of some outputs, then multiplies them with tiles of rows, strip by strip.
func neonDense(d denseCall) {
	sums := d.scratch[:denseRows*denseOutputs*sumLanes]
	weights := d.scratch[len(sums):]
	most := min(denseOutputs, len(weights)/d.in&^(panelOutputs-1))
	part := d
	for part.lo = d.lo; part.lo < d.hi; part.lo += most {
		part.hi = min(part.lo+most, d.hi)
		for o := part.lo; o < part.hi; o++ {
			simdWiden(&weights[(o-part.lo)*d.in], &d.w[2*o*d.in], d.in/8)
		}
		for first := 0; first < d.rows; first += denseRows {
			part.rows = min(denseRows, d.rows-first)
			part.x, part.y = d.x[first*d.ldx:], d.y[first*d.ldy+part.lo-d.lo:]
			denseBlock(part, weights, sums)
		}
	}
}

// denseBlock computes the outputs of d, whose weights are widened, for at most denseRows rows.
func denseBlock(d denseCall, weights, sums []float32) {
	outputs, size := d.hi-d.lo, d.rows*rowSums
	clear(sums)
	for at := 0; at < d.in; at += panelWidth {
		n := min(panelWidth, d.in-at)
		for o := 0; o < outputs; o += panelOutputs {
			denseTiles(sums[o/panelOutputs*size:], weights[o*d.in+at:], d.in, d.x[at:], d.ldx, n, d.rows)
		}
	}
	for o := 0; o < outputs; o += panelOutputs {
		storePanel(d.y[o:], d.ldy, sums[o/panelOutputs*size:][:size], d.rows, min(panelOutputs, outputs-o))
	}
}
