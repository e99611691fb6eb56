//go:build !noasm

package cpu

const (
	// wideOutputs is the outputs of one panel of transposed weights: two registers of 16.
	wideOutputs, halfOutputs = 32, 16
	// wideRows is the most rows that a panel meets before the next one is unpacked; their totals stay in the cache.
	wideRows = 128
	// wideBlock is the groups whose scales are transposed at a time.
	wideBlock = 32
	// wideStrip is the inputs, as float32 words of a panel, that are unpacked at a time: 16 KiB.
	wideStrip = 128
)

// avx512Kernels needs AVX-512 F, BW, DQ and VL. What is bound by memory or small stays with AVX2.
var avx512Kernels = func() *kernelSet {
	k := *avx2Kernels
	k.name, k.pack, k.affine, k.dense = "avx512", avx512Pack, avx512Affine, avx512Dense
	k.outer = nil // its own tiles are twice as wide
	k.scores = func(a attentionCall) { tiledScores(a, avx512ScoresTiles) }
	k.values = func(a attentionCall) { tiledValues(a, avx512ValuesTiles) }
	k.expSum, k.geglu = avx512ExpSumOf, avx512GEGLUOf
	return &k
}()

// avx512Pack keeps the natural order, which the unpacked weights have too.
func avx512Pack(dst, x []float32, bits int) { plainPack(dst, x, bits) }

// A wideScratch divides a worker's scratch for one panel.
type wideScratch struct {
	weights        []float32 // [wideStrip, 32], or twice as many pairs of 16 bits
	scales, biases []float32 // [wideBlock, 32]
	totals         []float32 // [rows, 32]
}

func divideWide(scratch []float32, rows int) (s wideScratch) {
	take := func(n int) []float32 {
		part := scratch[:n:n]
		scratch = scratch[n:]
		return part
	}
	s.weights = take(wideStrip * wideOutputs)
	s.scales = take(wideBlock * wideOutputs)
	s.biases = take(wideBlock * wideOutputs)
	s.totals = take(rows * wideOutputs)
	clear(s.totals)
	return s
}

// halfPanel is the first of 16 outputs from o on and the offsets of all, stride bytes apart. Outputs that do not exist
// repeat the last one below hi.
func halfPanel(o, hi, stride int) (first int, rows [halfOutputs]int) {
	first = min(o, hi-1)
	for i := range rows {
		rows[i] = min(i, hi-1-first) * stride
	}
	return first, rows
}

// transposeScales writes the scales and biases of n groups from g on of 16 outputs from o on, into half h of s.
func transposeScales(s wideScratch, h int, a affineCall, o, g, n int) {
	groups := a.w.In / groupSize
	first, rows := halfPanel(o, a.hi, 2*groups)
	at := 2 * (first*groups + g)
	avx512Columns(&s.scales[h*halfOutputs], &a.w.Scales[at], &rows, n)
	avx512Columns(&s.biases[h*halfOutputs], &a.w.Biases[at], &rows, n)
}

// widePanels calls strip for every strip of some groups of every panel, with the panel's scales in s from group block
// on, and writes the totals that strip adds up.
func widePanels(a affineCall, groupsAtATime int, strip func(a affineCall, s wideScratch, o, block, g, n int)) {
	groups := a.w.In / groupSize
	for first := 0; first < a.rows; first += wideRows {
		part := a
		part.rows = min(wideRows, a.rows-first)
		part.x, part.y = a.x[first*a.ldx:], a.y[first*a.ldy:]
		for o := a.lo; o < a.hi; o += wideOutputs {
			s := divideWide(a.scratch, part.rows)
			for block := 0; block < groups; block += wideBlock {
				end := min(block+wideBlock, groups)
				transposeScales(s, 0, part, o, block, end-block)
				transposeScales(s, 1, part, o+halfOutputs, block, end-block)
				for g := block; g < end; g += groupsAtATime {
					strip(part, s, o, block, g, min(groupsAtATime, end-g))
				}
			}
			storeWide(part.y[o-a.lo:], a.ldy, s.totals, part.rows, min(wideOutputs, a.hi-o))
		}
	}
}

// wideRow multiplies one row, 16 outputs at a time. row adds some groups from block on to the totals; while it does, it
// fetches the codes of the next 16 outputs, ahead bytes on, unless ahead is 0.
func wideRow(a affineCall,
	row func(a affineCall, s wideScratch, codes *byte, offsets [halfOutputs]int, ahead, block, n int)) {
	groups, rowBytes := a.w.In/groupSize, a.w.In/2
	s := divideWide(a.scratch, 1)
	for o := a.lo; o < a.hi; o += halfOutputs {
		first, offsets := halfPanel(o, a.hi, rowBytes)
		ahead := halfOutputs * rowBytes
		if o+halfOutputs >= a.hi {
			ahead = 0
		}
		clear(s.totals)
		for block := 0; block < groups; block += wideBlock {
			n := min(wideBlock, groups-block)
			transposeScales(s, 0, a, o, block, n)
			row(a, s, &a.w.Codes[first*rowBytes+block*groupSize/2], offsets, ahead, block, n)
		}
		copy(a.y[o-a.lo:][:min(halfOutputs, a.hi-o)], s.totals)
	}
}

func storeWide(y []float32, ldy int, totals []float32, rows, outputs int) {
	for r := range rows {
		copy(y[r*ldy:][:outputs], totals[r*wideOutputs:])
	}
}

func avx512Affine(a affineCall) {
	if a.w.Bits == 8 {
		widePanels(a, wideStrip/groupSize, avx512Strip8)
		return
	}
	widePanels(a, wideStrip/groupSize, avx512Strip4)
}

func avx512Strip4(a affineCall, s wideScratch, o, block, g, n int) {
	for h := range 2 {
		first, rows := halfPanel(o+h*halfOutputs, a.hi, a.w.In/2)
		avx512Unpack4(&s.weights[h*halfOutputs], &a.w.Codes[first*a.w.In/2+g*groupSize/2], &rows, n)
	}
	avx512FloatTiles(a, s, block, g, n)
}

func avx512Strip8(a affineCall, s wideScratch, o, block, g, n int) {
	for h := range 2 {
		first, rows := halfPanel(o+h*halfOutputs, a.hi, a.w.In)
		avx512Unpack8(&s.weights[h*halfOutputs], &a.w.Codes[first*a.w.In+g*groupSize], &rows, n)
	}
	avx512FloatTiles(a, s, block, g, n)
}

// A floatTile is a kernel for some rows at once.
type floatTile struct {
	rows   int
	affine func(t, w, scales, biases, x, sums *float32, ldx, groups int)
	dense  func(t, w, x *float32, ldx, steps int)
}

// floatTiles are in order of preference.
var floatTiles = []floatTile{
	{6, avx512Tile6, avx512DenseTile6}, {4, avx512Tile4, avx512DenseTile4},
	{2, avx512Tile2, avx512DenseTile2}, {1, avx512Tile1, avx512DenseTile1},
}

// avx512FloatTiles adds n groups from g on, unpacked in s, to the totals of all rows.
func avx512FloatTiles(a affineCall, s wideScratch, block, g, n int) {
	at, r := (g-block)*wideOutputs, 0
	for _, tile := range floatTiles {
		for ; a.rows-r >= tile.rows; r += tile.rows {
			x := a.x[r*a.ldx:]
			tile.affine(&s.totals[r*wideOutputs], &s.weights[0], &s.scales[at], &s.biases[at], &x[g*groupSize],
				&x[a.w.In+g], 4*a.ldx, n)
		}
	}
}

// avx512Dense adds up strips of inputs, which begin at multiples of wideStrip.
func avx512Dense(d denseCall) {
	for o := d.lo; o < d.hi; o += wideOutputs {
		outputs := min(wideOutputs, d.hi-o)
		for first := 0; first < d.rows; first += wideRows {
			rows := min(wideRows, d.rows-first)
			s := divideWide(d.scratch, rows)
			for at := 0; at < d.in; at += wideStrip {
				n := min(wideStrip, d.in-at)
				for h := range 2 {
					output, offsets := halfPanel(o+h*halfOutputs, d.hi, 2*d.in)
					avx512Columns(&s.weights[h*halfOutputs], &d.w[2*(output*d.in+at)], &offsets, n)
				}
				r := 0
				for _, tile := range floatTiles {
					for ; rows-r >= tile.rows; r += tile.rows {
						tile.dense(&s.totals[r*wideOutputs], &s.weights[0], &d.x[(first+r)*d.ldx+at], 4*d.ldx, n/4)
					}
				}
			}
			storeWide(d.y[first*d.ldy+o-d.lo:], d.ldy, s.totals, rows, outputs)
		}
	}
}

// avx512ScoresTiles are in order of preference.
var avx512ScoresTiles = []scoresTile{
	{4, avx512Scores4Half, avx512Scores4Float},
	{2, avx512Scores2Half, avx512Scores2Float},
	{1, avx512Scores1Half, avx512Scores1Float},
}

// avx512ValuesTiles are in order of preference. The last eight elements of an odd head are AVX2's.
var avx512ValuesTiles = []valuesTile{
	{4, 8, avx512Values4x4Half, avx512Values4x4Float},
	{4, 2, avx512Values4x1Half, avx512Values4x1Float},
	{4, 1, simdValues4x1Half, simdValues4x1Float},
	{2, 16, avx512Values2x8Half, avx512Values2x8Float},
	{2, 2, avx512Values2x1Half, avx512Values2x1Float},
	{2, 1, simdValues2x1Half, simdValues2x1Float},
	{1, 16, avx512Values1x8Half, avx512Values1x8Float},
	{1, 2, avx512Values1x1Half, avx512Values1x1Float},
	{1, 1, simdValues1x1Half, simdValues1x1Float},
}

func avx512ExpSumOf(p []float32, shift float32) float32 {
	var sum float32
	n := len(p) / 16
	if n > 0 {
		sum = avx512ExpSum(&p[0], n, shift)
	}
	return sum + simdExpSumOf(p[16*n:], shift)
}

func avx512GEGLUOf(gate, up []float32) {
	n := len(gate) / 16
	if n > 0 {
		avx512GEGLU(&gate[0], &up[0], n)
	}
	simdGEGLUOf(gate[16*n:], up[16*n:])
}
