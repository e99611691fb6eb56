package cpu

// A denseCall asks for y[r, o] = sum_i w[o, i] * x[r, i] with bf16 weights, for outputs o in [lo, hi).
type denseCall struct {
	w      []byte // [out, in] bf16
	in     int    // a multiple of 8
	lo, hi int
	x      []float32 // [rows, in], each as kernelSet.packDense leaves it, ldx elements apart
	ldx    int
	rows   int
	// y[r*ldy+o-lo] receives the result.
	y       []float32
	ldy     int
	scratch []float32 // the worker's own, at least denseScratchLen(in) elements
}

// denseScratchLen is what one worker needs for products with rows of in bf16 weights.
func denseScratchLen(in int) int { return minScratch + max(8*in, 4<<10) }

// plainDense widens the weights of one output and takes their dot product with every row.
func plainDense(d denseCall) {
	weights := d.scratch[:d.in]
	for o := d.lo; o < d.hi; o++ {
		for i := range weights {
			weights[i] = vectorAt(d.w, o*d.in+i)
		}
		for r := range d.rows {
			d.y[r*d.ldy+o-d.lo] = plainDot(weights, d.x[r*d.ldx:][:d.in])
		}
	}
}

// plainDot sums in four lanes. Never inlined, for the reason at affineDot.
//
//go:noinline
func plainDot(w, x []float32) float32 {
	x = x[:len(w)]
	var a, b, c, d float32
	for i := 0; i+4 <= len(w); i += 4 {
		a += w[i] * x[i]
		b += w[i+1] * x[i+1]
		c += w[i+2] * x[i+2]
		d += w[i+3] * x[i+3]
	}
	return (a + b) + (c + d)
}
