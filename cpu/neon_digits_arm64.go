//go:build !noasm

package cpu

// neonDotKernels are neonKernels with 4-bit products on activations of 16 bits (int16Row), as two signed digits of 8
// bits that the dot product instruction takes (FEAT_DotProd). Integer products are exact. 8-bit matrices (the router)
// keep float32.
var neonDotKernels = func() *kernelSet {
	k := *neonKernels
	k.name, k.rounds, k.pack, k.affine = "neon-int16", true, neonDotPack, neonDotAffine
	return &k
}()

// neonMatrixKernels are neonDotKernels by the 8-bit matrix instruction (FEAT_I8MM): twice the products of an
// instruction, the same integers, the same steps in float32 and so the same bits.
var neonMatrixKernels = func() *kernelSet {
	k := *neonDotKernels
	k.name, k.pack, k.affine = "neon-i8mm", neonMatrixPack, neonMatrixAffine
	return &k
}()

func neonDotPack(dst, x []float32, bits int) {
	if bits != 4 {
		neonPack(dst, x, bits)
		return
	}
	clearInt16Row(dst, len(x))
	row := int16RowAt(dst, len(x))
	neonSplitDot((*int8)(row.integers), row.scales, row.sums, &x[0], len(x)/groupSize)
}

func neonMatrixPack(dst, x []float32, bits int) {
	if bits != 4 {
		neonPack(dst, x, bits)
		return
	}
	clearInt16Row(dst, len(x))
	row := int16RowAt(dst, len(x))
	neonSplitMatrix((*int8)(row.integers), row.scales, row.sums, &x[0], len(x)/groupSize)
}

func neonDotAffine(a affineCall) { neonDigits(a, neonDotTile) }

func neonMatrixAffine(a affineCall) { neonDigits(a, neonMatrixTile) }

// digitTile is the shape of neonDotTile.
type digitTile func(t *float32, panelStride, panels int, codes *byte, stride, outputs int, scales *float32,
	scaleStride int, x *int8, xscales *float32, ldx, rows, groups int)

// digitPanels is how many panels several rows pass group by group, while their digits stay in the first-level cache.
// One row passes panel by panel, so that it reads the codes of few outputs at a time from memory.
const digitPanels = 4

// neonDigits computes products of codes with digits. Each output is the biases' part, then one sum of four float32
// steps a group: exact integer, its conversion, times both scales, added.
func neonDigits(a affineCall, tile digitTile) {
	if a.w.Bits != 4 {
		neonAffine(a)
		return
	}
	part := a
	for first := 0; first < a.rows; first += tileRows {
		part.rows = min(tileRows, a.rows-first)
		part.x, part.y = a.x[first*a.ldx:], a.y[first*a.ldy:]
		size := panelScratchLen(part.rows, a.w.In/groupSize)
		most := min(digitPanels, len(a.scratch)/size)
		if a.rows == 1 {
			most = 1
		}
		for o := a.lo; o < a.hi; {
			outputs := min(panelOutputs, a.hi-o)
			panels := max(min((a.hi-o)/panelOutputs, most), 1)
			digitBlock(part, o, outputs, panels, size, tile)
			o += outputs * panels
		}
	}
}

// panelScratchLen is what dividePanel takes, to a whole cache line.
func panelScratchLen(rows, groups int) int {
	return (panelOutputs*panelWidth + rowSums*rows + 2*panelOutputs*((groups+7)&^7) + 15) &^ 15
}

// digitBlock computes outputs o to o+outputs*panels-1 for all rows. Each panel has its part of the scratch, of size
// elements; its sums [rows, 4] take the place of unpacked weights.
func digitBlock(a affineCall, o, outputs, panels, size int, tile digitTile) {
	groups, rowBytes := a.w.In/groupSize, a.w.In/2
	part := a
	for p := range panels {
		part.scratch = a.scratch[p*size:]
		s, _ := beginPanel(part, o+p*panelOutputs)
		simdFinish(&s.weights[0], 4*panelOutputs, &s.sums[0], a.rows)
	}
	s := dividePanel(a.scratch, a.rows, groups)
	x := int16RowAt(a.x, a.w.In)
	tile(&s.weights[0], 4*size, panels, &a.w.Codes[o*rowBytes], rowBytes, outputs, &s.scales[0], 4*s.stride,
		(*int8)(x.integers), x.scales, 4*a.ldx, a.rows, groups)
	for p := range panels {
		storeSums(a.y[o+p*panelOutputs-a.lo:], a.ldy, a.scratch[p*size:], a.rows, outputs)
	}
}

// storeSums copies the outputs of sums [rows, 4].
func storeSums(y []float32, ldy int, sums []float32, rows, outputs int) {
	if outputs < panelOutputs {
		for r := range rows {
			copy(y[r*ldy:][:outputs], sums[r*panelOutputs:])
		}
		return
	}
	for r := range rows {
		*(*[panelOutputs]float32)(y[r*ldy:]) = *(*[panelOutputs]float32)(sums[r*panelOutputs:])
	}
}
