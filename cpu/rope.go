package cpu

import "math"

// A ropeTable holds the cosines and sines of the rows of one chunk, [rows, pairs], for one kind of layer.
type ropeTable struct {
	freqs    []float32 // [pairs]
	cos, sin []float32
	pos      int // position of row 0
	rows     int // rows that are filled
}

// newRopeTable holds rows for pairs theta^(-2i/dim), i < pairs. In full layers pairs is less than dim/2: the other
// pairs keep still, and the exponent's denominator is the whole head all the same.
func newRopeTable(a *arena, theta float64, dim, pairs, rows int) *ropeTable {
	t := &ropeTable{freqs: make([]float32, pairs)}
	for i := range t.freqs {
		t.freqs[i] = float32(1 / math.Pow(theta, float64(2*i)/float64(dim)))
	}
	a.floats(&t.cos, rows*pairs)
	a.floats(&t.sin, rows*pairs)
	return t
}

// fill prepares rows positions from pos on. The angle is a float32 product, as the references form it (at position
// 1e5 it is off by hundredths, and the model was trained so); its sine and cosine are accurate.
func (t *ropeTable) fill(pos, rows int) {
	if t.pos == pos && t.rows >= rows {
		return
	}
	t.pos, t.rows = pos, rows
	for r := range rows {
		for i, f := range t.freqs {
			s, c := math.Sincos(float64(float32(pos+r) * f))
			t.cos[r*len(t.freqs)+i] = float32(c)
			t.sin[r*len(t.freqs)+i] = float32(s)
		}
	}
}

// rotate turns x, one head, by the angles of row: element i with element i+half.
func (t *ropeTable) rotate(x []float32, row int) {
	n := len(t.freqs)
	rotatePairs(x, len(x)/2, t.cos[row*n:][:n], t.sin[row*n:][:n])
}

// rotatePairs turns the pairs (x[i], x[i+half]), i < len(cos). The conversions keep products from being fused.
func rotatePairs(x []float32, half int, cos, sin []float32) {
	for i, c := range cos {
		a, b, s := x[i], x[i+half], sin[i]
		x[i] = float32(a*c) - float32(b*s)
		x[i+half] = float32(b*c) + float32(a*s)
	}
}
