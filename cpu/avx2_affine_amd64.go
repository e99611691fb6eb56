//go:build !noasm

package cpu

import "github.com/fieldfare/fieldfare/core"

const (
	// panelOutputs is the number of outputs of one panel, whose weights are unpacked together.
	panelOutputs = 4
	// panelGroups is the groups of a panel's outputs that are unpacked at a time: 8 KiB, a quarter of a first-level
	// cache.
	panelGroups = 8
	panelWidth  = panelGroups * groupSize
	// tileRows is the most rows that a panel meets before the next panel is unpacked: their sums, 32 elements each, stay
	// in the first-level cache, and the rows of a wide matrix in the second.
	tileRows = 32
)

// avx2Pack orders the activations as the codes come out of their registers: internal/asm/affine.go.
func avx2Pack(dst, x []float32, bits int) {
	groups := len(x) / groupSize
	sums := dst[len(x):packedLen(len(x))]
	clear(sums)
	if bits == 4 {
		avx2Pack4(&dst[0], &sums[0], &x[0], groups)
		return
	}
	// Part k of register r holds bytes k of its dwords, scaled by 256^k but for the last.
	factors := [4]float32{1, 1.0 / 256, 1.0 / 65536, 1}
	for g := range groups {
		from, to := x[g*groupSize:][:groupSize], dst[g*groupSize:][:groupSize]
		for i, v := range from {
			to[i&^31+i%4*8+i%32/4] = v * factors[i%4]
		}
		sums[g] = plainSum(from)
	}
}

// avx2Affine streams the codes once for one row. For more rows it unpacks panels of outputs and multiplies tiles, with
// the same order of operations per element.
func avx2Affine(a affineCall) { affineRows(a, 2, avx2OneRow, avx2Panel) }

// fewOutputs is how many outputs a few rows pass one after the other, while the codes stay in the first-level cache.
const fewOutputs = 8

// affineRows runs one for each row when there are at most few of them, which is then faster than unpacking, else panel
// for every panel of outputs.
func affineRows(a affineCall, few int, one func(affineCall), panel func(a affineCall, o int)) {
	if a.rows == 1 {
		one(a)
		return
	}
	part := a
	if a.rows <= few {
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

// leftover is the first of the last 8 groups when they are not a whole number of blocks, else -1.
func leftover(groups int) int {
	if groups%8 == 0 {
		return -1
	}
	return groups - 8
}

func avx2OneRow(a affineCall) {
	groups := a.w.In / groupSize
	rowBytes := a.w.In * a.w.Bits / 8
	codes, scales, biases := a.w.Codes[a.lo*rowBytes:], a.w.Scales[2*a.lo*groups:], a.w.Biases[2*a.lo*groups:]
	if groups >= 8 {
		avx2Gemv(a.w.Bits, &a.y[0], &codes[0], &scales[0], &biases[0], &a.x[0], groups, groups/8, leftover(groups),
			a.hi-a.lo, &a.scratch[0])
		return
	}
	for o := range a.hi - a.lo { // less than a block: pad, so that nothing is read past the end
		var s, b [16]byte
		copy(s[:], scales[2*o*groups:][:2*groups])
		copy(b[:], biases[2*o*groups:][:2*groups])
		avx2Gemv(a.w.Bits, &a.y[o], &codes[o*rowBytes], &s[0], &b[0], &a.x[0], groups, 1, -1, 1, &a.scratch[0])
	}
}

// avx2Gemv calls the kernel of bits. A function value would make its arguments escape.
func avx2Gemv(bits int, y *float32, codes, scales, biases *byte, x *float32, groups, blocks, tail, outputs int,
	scratch *float32) {
	if bits == 8 {
		avx2Gemv8(y, codes, scales, biases, x, groups, blocks, tail, outputs, scratch)
		return
	}
	avx2Gemv4(y, codes, scales, biases, x, groups, blocks, tail, outputs, scratch)
}

// A panelScratch divides a worker's scratch for one panel.
type panelScratch struct {
	weights        []float32 // [4, panelWidth]
	sums           []float32 // [rows, 4, 8]
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
	p.sums = take(panelOutputs * 8 * rows)
	p.scales = take(panelOutputs * p.stride)
	p.biases = take(panelOutputs * p.stride)
	return p
}

// widenGroups writes the n bf16 scales or biases of one output, and zeros up to a multiple of 8.
func widenGroups(dst []float32, src core.Vector, n int) {
	if full := n / 8; full > 0 {
		avx2Widen(&dst[0], &src[0], full)
	}
	clear(dst[n&^7:])
	for i := n &^ 7; i < n; i++ {
		dst[i] = vectorAt(src, i)
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
	blocks, tail := groups/8, leftover(groups)
	switch {
	case groups < 8:
		blocks, tail = 1, -1
	case tail >= 0:
		// The last block counts back from the end, as in avx2Gemv: lanes that whole blocks hold are zero.
		for m := range panelOutputs {
			b := s.biases[m*s.stride:][:s.stride]
			left := groups % 8
			copy(b[8*blocks+8-left:], b[8*blocks:8*blocks+left])
			clear(b[8*blocks : 8*blocks+8-left])
		}
	}
	avx2BiasDots(&s.sums[0], &s.biases[0], &a.x[a.w.In], 4*a.ldx, blocks, tail, a.rows)
	return s, outputs
}

// avx2Panel computes outputs o to o+3, of those below a.hi, for all rows.
func avx2Panel(a affineCall, o int) {
	groups := a.w.In / groupSize
	s, outputs := beginPanel(a, o)
	rowBytes := a.w.In * a.w.Bits / 8
	unpack := avx2Unpack4
	if a.w.Bits == 8 {
		unpack = avx2Unpack8
	}
	threes, twos, ones := tileCounts(a.rows)
	for g := 0; g < groups; g += panelGroups {
		n := min(panelGroups, groups-g)
		unpack(&s.weights[0], &a.w.Codes[o*rowBytes+g*groupSize*a.w.Bits/8], rowBytes, n, outputs)
		x, t, w, scales := a.x[g*groupSize:], s.sums, &s.weights[0], &s.scales[g]
		if threes > 0 {
			avx2AffineTile3(&t[0], w, scales, 4*s.stride, &x[0], 4*a.ldx, n, threes)
		}
		if twos > 0 {
			avx2AffineTile2(&t[32*3*threes], w, scales, 4*s.stride, &x[3*threes*a.ldx], 4*a.ldx, n, twos)
		}
		if ones > 0 {
			avx2AffineTile1(&t[0], w, scales, 4*s.stride, &x[0], 4*a.ldx, n, ones)
		}
	}
	storePanel(a.y[o-a.lo:], a.ldy, s.sums, a.rows, outputs)
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
		avx2Finish(&y[0], 4*ldy, &sums[0], rows)
		return
	}
	for r := range rows {
		var buf [panelOutputs]float32
		avx2Finish(&buf[0], 0, &sums[32*r], 1)
		copy(y[r*ldy:][:outputs], buf[:])
	}
}
