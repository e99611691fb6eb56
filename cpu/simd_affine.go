//go:build (amd64 || arm64) && !noasm

package cpu

import "github.com/fieldfare/fieldfare/core"

const (
	// panelOutputs is the number of outputs of one panel, whose weights are unpacked together.
	panelOutputs = 4
	// panelGroups is the groups of a panel's outputs that are unpacked at a time: 8 KiB, a quarter of a first-level
	// cache.
	panelGroups = 8
	panelWidth  = panelGroups * groupSize
	// tileRows is the most rows that a panel meets before the next panel is unpacked: their sums stay in the first-level
	// cache, and the rows of a wide matrix in the second.
	tileRows = 32
	// rowSums is the elements of one row's sums for one panel.
	rowSums = panelOutputs * sumLanes
)

// fewOutputs is how many outputs a few rows pass one after the other, while the codes stay in the first-level cache.
const fewOutputs = 8

// affineRows runs one for each row when there are at most few of them, which is then faster than unpacking, else panel
// for every panel of outputs. Both have the same order of operations per element.
func affineRows(a affineCall, few int, one func(affineCall), panel func(a affineCall, o int)) {
	part := a
	switch {
	case a.rows == 1 && few > 0:
		one(a)
		return
	case a.rows <= few:
		part.rows = 1
		for part.lo = a.lo; part.lo < a.hi; part.lo += fewOutputs {
			part.hi = min(part.lo+fewOutputs, a.hi)
			for r := range a.rows {
				part.x, part.y = a.x[r*a.ldx:], a.y[r*a.ldy+part.lo-a.lo:]
				one(part)
			}
		}
		return
	}
	for first := 0; first < a.rows; first += tileRows {
		part.rows = min(tileRows, a.rows-first)
		part.x, part.y = a.x[first*a.ldx:], a.y[first*a.ldy:]
		for o := a.lo; o < a.hi; o += panelOutputs {
			panel(part, o)
		}
	}
}

// A panelScratch divides a worker's scratch for one panel.
type panelScratch struct {
	weights        []float32 // [4, panelWidth]
	sums           []float32 // [rows, 4, sumLanes]
	scales, biases []float32 // [4, stride]
	stride         int
}

func dividePanel(scratch []float32, rows, groups int) panelScratch {
	p := panelScratch{stride: (groups + 7) &^ 7}
	take := func(n int) []float32 {
		part := scratch[:n]
		scratch = scratch[n:]
		return part
	}
	p.weights = take(panelOutputs * panelWidth)
	p.sums = take(rowSums * rows)
	p.scales = take(panelOutputs * p.stride)
	p.biases = take(panelOutputs * p.stride)
	return p
}

// widenGroups writes the n bf16 scales or biases of one output, and zeros up to a multiple of 8.
func widenGroups(dst []float32, src core.Vector, n int) {
	if n < 8 {
		clear(dst)
		for i := range n {
			dst[i] = vectorAt(src, i)
		}
		return
	}
	simdWiden(&dst[0], &src[0], n/8)
	if n%8 != 0 {
		simdWiden(&dst[n-8], &src[2*(n-8)], 1)
		clear(dst[n:])
	}
}

// beginPanel widens the scales of outputs o to o+3 and starts their sums with the biases' part. outputs is how many of
// them are below a.hi.
func beginPanel(a affineCall, o int) (s panelScratch, outputs int) {
	groups := a.w.In / groupSize
	s = dividePanel(a.scratch, a.rows, groups)
	outputs = min(panelOutputs, a.hi-o)
	for m := range panelOutputs {
		from := 2 * groups * min(o+m, a.hi-1) // outputs that do not exist repeat the last
		widenGroups(s.scales[m*s.stride:][:s.stride], a.w.Scales[from:], groups)
		widenGroups(s.biases[m*s.stride:][:s.stride], a.w.Biases[from:], groups)
	}
	clear(s.sums)
	denseTiles(s.sums, s.biases, s.stride, a.x[a.w.In:], a.ldx, s.stride, a.rows)
	return s, outputs
}

// simdPanel computes outputs o to o+3, of those below a.hi, for all rows.
func simdPanel(a affineCall, o int) {
	groups := a.w.In / groupSize
	s, outputs := beginPanel(a, o)
	rowBytes := a.w.In * a.w.Bits / 8
	for g := 0; g < groups; g += panelGroups {
		n := min(panelGroups, groups-g)
		codes := &a.w.Codes[o*rowBytes+g*groupSize*a.w.Bits/8]
		if a.w.Bits == 8 {
			simdUnpack8(&s.weights[0], codes, rowBytes, n, outputs)
		} else {
			simdUnpack4(&s.weights[0], codes, rowBytes, n, outputs)
		}
		affineTiles(s, g, n, a.x[g*groupSize:], a.ldx, a.rows)
	}
	storePanel(a.y[o-a.lo:], a.ldy, s.sums, a.rows, outputs)
}

// affineTiles adds n groups from g on, unpacked in s.weights, to the sums of all rows.
func affineTiles(s panelScratch, g, n int, x []float32, ldx, rows int) {
	w, scales, stride := &s.weights[0], &s.scales[g], 4*s.stride
	threes, twos, ones := tileCounts(rows)
	if threes > 0 {
		simdAffineTile3(&s.sums[0], w, scales, stride, &x[0], 4*ldx, n, threes)
	}
	if twos > 0 {
		simdAffineTile2(&s.sums[3*threes*rowSums], w, scales, stride, &x[3*threes*ldx], 4*ldx, n, twos)
	}
	if ones > 0 {
		simdAffineTile1(&s.sums[0], w, scales, stride, &x[0], 4*ldx, n, ones)
	}
}

// denseTiles adds products of n inputs, a multiple of 8, with four outputs' weights, ldw apart, to the sums of all
// rows.
func denseTiles(sums, w []float32, ldw int, x []float32, ldx, n, rows int) {
	threes, twos, ones := tileCounts(rows)
	if threes > 0 {
		simdDenseTile3(&sums[0], &w[0], 4*ldw, &x[0], 4*ldx, n/8, threes)
	}
	if twos > 0 {
		simdDenseTile2(&sums[3*threes*rowSums], &w[0], 4*ldw, &x[3*threes*ldx], 4*ldx, n/8, twos)
	}
	if ones > 0 {
		simdDenseTile1(&sums[0], &w[0], 4*ldw, &x[0], 4*ldx, n/8, ones)
	}
}

// tileCounts divides rows into tiles of 3 and 2 rows; a tile of 1, which leaves half of the multipliers idle, is for a
// single row.
func tileCounts(rows int) (threes, twos, ones int) {
	switch {
	case rows == 1:
		return 0, 0, 1
	case rows%3 == 1:
		return (rows - 4) / 3, 2, 0
	}
	return rows / 3, rows % 3 / 2, 0
}

// storePanel sums the lanes of a panel and writes its outputs.
func storePanel(y []float32, ldy int, sums []float32, rows, outputs int) {
	if outputs == panelOutputs {
		simdFinish(&y[0], 4*ldy, &sums[0], rows)
		return
	}
	for r := range rows {
		var buf [panelOutputs]float32
		simdFinish(&buf[0], 0, &sums[rowSums*r], 1)
		copy(y[r*ldy:][:outputs], buf[:])
	}
}
