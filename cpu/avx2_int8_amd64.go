//go:build !noasm

package cpu

import "unsafe"

// avx2Int8Kernels are avx2Kernels with 4-bit products on activations of 8 bits (int8_row.go). 8-bit matrices (the
// router) keep float32.
var avx2Int8Kernels = func() *kernelSet {
	k := *avx2Kernels
	k.name, k.rounds, k.fine, k.pack, k.affine = "avx2-int8", true, avx2Int16Kernels, int8Pack, int8Affine
	return &k
}()

const (
	// int8Outputs is the outputs of one panel: the lanes of a register of sums.
	int8Outputs = 8
	// int8Panels is the most panels that meet the same activations.
	int8Panels = 2
	// int8PanelFloats is the scratch of a panel's codes, a byte each, of panelGroups groups.
	int8PanelFloats = int8Outputs * panelWidth / 4
)

func int8Pack(dst, x []float32, bits int) {
	if bits != 4 {
		avx2Pack(dst, x, bits)
		return
	}
	avx2PackInt8(int8GroupAt(dst, 0), &x[0], len(x)/groupSize)
}

// int8Affine streams the codes for one row. For more rows it unpacks panels of outputs and multiplies tiles, with the
// same order of operations per element.
func int8Affine(a affineCall) {
	if a.w.Bits != 4 {
		avx2Affine(a)
		return
	}
	part := a
	for first := 0; first < a.rows; first += tileRows {
		part.rows = min(tileRows, a.rows-first)
		part.x, part.y = a.x[first*a.ldx:], a.y[first*a.ldy:]
		for part.lo = a.lo; part.lo < a.hi; {
			n := int8Some(part)
			part.lo += n
			part.y = part.y[n:]
		}
	}
}

// int8Some computes the first outputs of a and returns how many: one or two panels, or what is less than a panel one by
// one, as a panel of eight equal outputs.
func int8Some(a affineCall) int {
	b := int8Block{affineCall: a, outputs: int8Outputs, panels: 1, groups: a.w.In / groupSize}
	b.rowBytes, b.scaleBytes = a.w.In/2, 2*b.groups
	switch n := a.hi - a.lo; {
	case n < int8Outputs:
		b.outputs, b.rowBytes, b.scaleBytes = 1, 0, 0
	case n >= int8Panels*int8Outputs && a.rows > 1:
		b.outputs, b.panels = int8Panels*int8Outputs, int8Panels
	}
	if a.rows == 1 {
		b.oneRow()
	} else {
		b.manyRows()
	}
	return b.outputs
}

// An int8Block is the first outputs of a call.
type int8Block struct {
	affineCall
	outputs, panels      int
	groups               int
	rowBytes, scaleBytes int // from one output to the next
}

// takeScales widens the scales and biases of all panels to the front of the scratch, [panels, groups, 2, 8].
func (b *int8Block) takeScales() (scales, scratch []float32, stride int) {
	stride = 2 * int8Outputs * max(b.groups, 8)
	for p := range b.panels {
		from := 2 * b.groups * (b.lo + p*int8Outputs)
		b.panelScales(b.scratch[p*stride:][:stride], b.w.Scales[from:], b.w.Biases[from:])
	}
	return b.scratch, b.scratch[b.panels*stride:], stride
}

func (b *int8Block) panelScales(dst []float32, scales, biases []byte) {
	if b.groups < 8 { // less than a block: pad, so that nothing is read past the end
		var s, t [16 * int8Outputs]byte
		for m := range int8Outputs {
			copy(s[16*m:], scales[m*b.scaleBytes:][:2*b.groups])
			copy(t[16*m:], biases[m*b.scaleBytes:][:2*b.groups])
		}
		avx2ScalesInt8(&dst[0], &s[0], &t[0], 16, 1)
		return
	}
	avx2ScalesInt8(&dst[0], &scales[0], &biases[0], b.scaleBytes, b.groups/8)
	if last := leftover(b.groups); last >= 0 {
		avx2ScalesInt8(&dst[2*int8Outputs*last], &scales[2*last], &biases[2*last], b.scaleBytes, 1)
	}
}

func (b *int8Block) codes(panel, g int) *byte {
	return &b.w.Codes[(b.lo+panel*int8Outputs)*b.w.In/2+g*groupSize/2]
}

func (b *int8Block) oneRow() {
	scales, _, _ := b.takeScales()
	if b.outputs == int8Outputs {
		avx2GemvInt8(&b.y[0], b.codes(0, 0), b.rowBytes, &scales[0], int8GroupAt(b.x, 0), b.groups)
		return
	}
	var y [int8Outputs]float32
	avx2GemvInt8(&y[0], b.codes(0, 0), b.rowBytes, &scales[0], int8GroupAt(b.x, 0), b.groups)
	b.y[0] = y[0]
}

func (b *int8Block) manyRows() {
	scales, free, stride := b.takeScales()
	weights, width := free[:int8Panels*int8PanelFloats], b.panels*int8Outputs
	sums := free[len(weights):][:b.rows*width]
	clear(sums)
	for g := 0; g < b.groups; g += panelGroups {
		n := min(panelGroups, b.groups-g)
		for p := range b.panels {
			avx2UnpackInt8((*byte)(unsafe.Pointer(&weights[p*int8PanelFloats])), b.codes(p, g), b.rowBytes, n)
		}
		b.tiles(sums, (*byte)(unsafe.Pointer(&weights[0])), &scales[2*int8Outputs*g], 4*stride, g, n)
	}
	for r := range b.rows {
		copy(b.y[r*b.ldy:][:b.outputs], sums[r*width:])
	}
}

// tiles adds n groups from g on to the sums of all rows.
func (b *int8Block) tiles(sums []float32, weights *byte, scales *float32, stride, g, n int) {
	three, two := avx2TileInt8x1x3, avx2TileInt8x1x2
	if b.panels == 2 {
		three, two = avx2TileInt8x2x3, avx2TileInt8x2x2
	}
	threes, twos, _ := tileCounts(b.rows)
	if threes > 0 {
		three(&sums[0], weights, scales, stride, int8GroupAt(b.x, g), 4*b.ldx, n, threes)
	}
	if twos > 0 {
		first := 3 * threes
		two(&sums[first*b.panels*int8Outputs], weights, scales, stride, int8GroupAt(b.x[first*b.ldx:], g), 4*b.ldx, n, twos)
	}
}
