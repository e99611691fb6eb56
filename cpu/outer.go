package cpu

// outerOutputs is the width of a panel: one output in each lane.
const outerOutputs = 24

// An outerCall asks for y[r, o] = sum_k x[r, k] * w[k, o] for a panel of outputs.
type outerCall struct {
	// y[r*ldy+o] receives the result, or is added to. Rows have room for whole panels.
	y   []float32
	ldy int
	add bool
	// x holds rows of at least depth elements, ldx apart.
	x         []float32
	ldx, rows int
	w         []float32 // [depth, outerOutputs]
	depth     int
}

// padOuter is n as a whole number of panels.
func padOuter(n int) int { return (n + outerOutputs - 1) / outerOutputs * outerOutputs }
