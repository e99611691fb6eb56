//go:build !noasm

package cpu

import "unsafe"

// avx512Int8Kernels are avx512VNNIKernels with products on activations of 8 bits (int8_row.go). Their bits are those of
// avx2Int8Kernels.
var avx512Int8Kernels = func() *kernelSet {
	k := *avx512VNNIKernels
	k.name, k.fine, k.pack, k.affine = "avx512-int8", avx512VNNIKernels, avx512Int8Pack, avx512Int8Affine
	return &k
}()

// avx512Int8Pack leaves a group of zeros behind an odd number of groups: avx512RowInt8 takes two at a time.
func avx512Int8Pack(dst, x []float32, bits int) {
	if bits != 4 {
		avx512Pack(dst, x, bits)
		return
	}
	int8Pack(dst, x, bits)
	clear(dst[len(x)/groupSize*int8GroupBytes/4:][:int8GroupBytes/4])
}

func avx512Int8Affine(a affineCall) {
	switch {
	case a.w.Bits != 4:
		avx512Affine(a)
	case a.rows == 1:
		wideRow(a, avx512Int8Row)
	default:
		widePanels(a, 4*wideStrip/groupSize, avx512Int8Strip)
	}
}

// int8Tiles512 are in order of preference.
var int8Tiles512 = []struct {
	rows int
	f    func(t *float32, w *byte, scales, biases *float32, x *byte, ldx, groups int)
}{
	{12, avx512TileInt8x12}, {8, avx512TileInt8x8}, {4, avx512TileInt8x4}, {2, avx512TileInt8x2}, {1, avx512TileInt8x1},
}

func avx512Int8Strip(a affineCall, s wideScratch, o, block, g, n int) {
	weights := (*byte)(unsafe.Pointer(&s.weights[0]))
	for h := range 2 {
		first, rows := halfPanel(o+h*halfOutputs, a.hi, a.w.In/2)
		to := (*byte)(unsafe.Pointer(&s.weights[h*halfOutputs]))
		avx512UnpackInt8(to, &a.w.Codes[first*a.w.In/2+g*groupSize/2], &rows, n)
	}
	at, r := (g-block)*wideOutputs, 0
	for _, tile := range int8Tiles512 {
		for ; a.rows-r >= tile.rows; r += tile.rows {
			tile.f(&s.totals[r*wideOutputs], weights, &s.scales[at], &s.biases[at], int8GroupAt(a.x[r*a.ldx:], g), 4*a.ldx, n)
		}
	}
}

// avx512Int8Row adds n groups from block on to the totals of 16 outputs.
func avx512Int8Row(a affineCall, s wideScratch, codes *byte, offsets [halfOutputs]int, ahead, block, n int) {
	avx512RowInt8(&s.totals[0], codes, &offsets, ahead, &s.scales[0], &s.biases[0], int8GroupAt(a.x, block), n)
}
