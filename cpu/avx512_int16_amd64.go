//go:build !noasm

package cpu

import "unsafe"

// int16Kernels512 are the products on activations of 16 bits (int16Row), with or without VNNI. Sums of a group are exact
// integers, so both give the same bits, and so do tiles and single rows.
type int16Kernels512 struct {
	vnni  bool
	tiles []int16Tile
}

// An int16Tile is a kernel for some rows at once.
type int16Tile struct {
	rows int
	f    func(t *float32, w *int16, scales, biases *float32, x *int16, xscales, sums *float32, ldx, groups int)
}

// maddProducts multiply and add with two instructions, vnniProducts with one of VNNI.
var (
	maddProducts = int16Kernels512{
		tiles: []int16Tile{
			{12, avx512TileInt16x12}, {8, avx512TileInt16x8}, {4, avx512TileInt16x4}, {2, avx512TileInt16x2},
			{1, avx512TileInt16x1},
		},
	}
	vnniProducts = int16Kernels512{
		vnni: true,
		tiles: []int16Tile{
			{12, avx512TileInt16VNNIx12}, {8, avx512TileInt16VNNIx8}, {4, avx512TileInt16VNNIx4},
			{2, avx512TileInt16VNNIx2}, {1, avx512TileInt16VNNIx1},
		},
	}
)

// avx512Int16Kernels are avx512Kernels with 4-bit products on activations of 16 bits, avx512VNNIKernels the same by
// VNNI. 8-bit matrices (the router) keep float32.
var (
	avx512Int16Kernels = avx512Int16Set("avx512-int16", avx512Int16Affine)
	avx512VNNIKernels  = avx512Int16Set("avx512-vnni", avx512VNNIAffine)
)

func avx512Int16Set(name string, affine func(affineCall)) *kernelSet {
	k := *avx512Kernels
	k.name, k.rounds, k.pack, k.affine = name, true, avx512Int16Pack, affine
	return &k
}

func avx512Int16Pack(dst, x []float32, bits int) {
	if bits != 4 {
		avx512Pack(dst, x, bits)
		return
	}
	int16Pack(dst, x, bits)
}

func avx512Int16Affine(a affineCall) { maddProducts.affine(a) }

func avx512VNNIAffine(a affineCall) { vnniProducts.affine(a) }

func (p int16Kernels512) affine(a affineCall) {
	switch {
	case a.w.Bits != 4:
		avx512Affine(a)
	case a.rows == 1:
		wideRow(a, p.oneRow)
	default:
		widePanels(a, 2*wideStrip/groupSize, p.strip)
	}
}

func (p int16Kernels512) strip(a affineCall, s wideScratch, o, block, g, n int) {
	weights := (*int16)(unsafe.Pointer(&s.weights[0]))
	for h := range 2 {
		first, rows := halfPanel(o+h*halfOutputs, a.hi, a.w.In/2)
		to := (*int16)(unsafe.Pointer(&s.weights[h*halfOutputs]))
		avx512UnpackInt16(to, &a.w.Codes[first*a.w.In/2+g*groupSize/2], &rows, n)
	}
	at, r := (g-block)*wideOutputs, 0
	for _, tile := range p.tiles {
		for ; a.rows-r >= tile.rows; r += tile.rows {
			x := int16RowAt(a.x[r*a.ldx:], a.w.In).from(g)
			tile.f(&s.totals[r*wideOutputs], weights, &s.scales[at], &s.biases[at], x.words(), x.scales, x.sums,
				4*a.ldx, n)
		}
	}
}

// oneRow adds n groups from block on to the totals of 16 outputs.
func (p int16Kernels512) oneRow(a affineCall, s wideScratch, codes *byte, offsets [halfOutputs]int, ahead, block, n int) {
	x := int16RowAt(a.x, a.w.In).from(block)
	// Called by name: through a variable the offsets would escape to the heap.
	if p.vnni {
		avx512RowInt16VNNI(&s.totals[0], codes, &offsets, ahead, &s.scales[0], &s.biases[0], x.words(), x.scales, x.sums, n)
	} else {
		avx512RowInt16(&s.totals[0], codes, &offsets, ahead, &s.scales[0], &s.biases[0], x.words(), x.scales, x.sums, n)
	}
}

// from is what begins at group g.
func (r int16Row) from(g int) int16Row {
	return int16Row{
		integers: unsafe.Add(r.integers, 2*groupSize*g),
		scales:   (*float32)(unsafe.Add(unsafe.Pointer(r.scales), 4*g)),
		sums:     (*float32)(unsafe.Add(unsafe.Pointer(r.sums), 4*g)),
	}
}

func (r int16Row) words() *int16 { return (*int16)(r.integers) }
