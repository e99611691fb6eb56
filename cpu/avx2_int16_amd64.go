//go:build !noasm

package cpu

import "unsafe"

// avx2Int16Kernels are avx2Kernels with 4-bit products on activations of 16 bits (int16Row). Integer products are
// exact, so only that rounding and the float32 sums over groups remain. 8-bit matrices (the router) keep float32.
var avx2Int16Kernels = func() *kernelSet {
	k := *avx2Kernels
	k.name, k.rounds, k.pack, k.affine = "avx2-int16", true, int16Pack, int16Affine
	return &k
}()

func int16Pack(dst, x []float32, bits int) {
	if bits != 4 {
		avx2Pack(dst, x, bits)
		return
	}
	groups := len(x) / groupSize
	clearInt16Row(dst, len(x))
	row := int16RowAt(dst, len(x))
	avx2PackInt16((*int16)(row.integers), row.scales, row.sums, &x[0], groups)
}

func int16Affine(a affineCall) {
	if a.w.Bits != 4 {
		avx2Affine(a)
		return
	}
	affineRows(a, 3, int16OneRow, int16Panel)
}

func int16OneRow(a affineCall) {
	groups := a.w.In / groupSize
	rowBytes := a.w.In / 2
	x := int16RowAt(a.x, a.w.In)
	codes, scales, biases := a.w.Codes[a.lo*rowBytes:], a.w.Scales[2*a.lo*groups:], a.w.Biases[2*a.lo*groups:]
	if groups >= 8 {
		avx2GemvInt16(&a.y[0], &codes[0], &scales[0], &biases[0], (*int16)(x.integers), x.scales, x.sums, groups, groups/8,
			leftover(groups), a.hi-a.lo, &a.scratch[0])
		return
	}
	for o := range a.hi - a.lo { // less than a block: pad, so that nothing is read past the end
		var s, b [16]byte
		copy(s[:], scales[2*o*groups:][:2*groups])
		copy(b[:], biases[2*o*groups:][:2*groups])
		avx2GemvInt16(&a.y[o], &codes[o*rowBytes], &s[0], &b[0], (*int16)(x.integers), x.scales, x.sums,
			groups, 1, -1, 1, &a.scratch[0])
	}
}

// int16Panel computes outputs o to o+3, of those below a.hi, for all rows.
func int16Panel(a affineCall, o int) {
	groups := a.w.In / groupSize
	s, outputs := beginPanel(a, o)
	products := a.scratch[len(a.scratch)-64:]
	rowBytes := a.w.In / 2
	weights := (*int16)(unsafe.Pointer(&s.weights[0]))
	for g := 0; g < groups; g += panelGroups {
		n := min(panelGroups, groups-g)
		avx2UnpackInt16(weights, &a.w.Codes[o*rowBytes+g*groupSize/2], rowBytes, n, outputs)
		for first := 0; first < a.rows; {
			x := int16RowAt(a.x[first*a.ldx:], a.w.In)
			words := (*int16)(unsafe.Add(x.integers, 2*groupSize*g))
			scales := (*float32)(unsafe.Add(unsafe.Pointer(x.scales), 4*g))
			if count := (a.rows - first) / 2; count > 0 {
				avx2TileInt16x2(&s.sums[rowSums*first], weights, &s.scales[g], 4*s.stride, words, scales, 4*a.ldx,
					n, count, &products[0])
				first += 2 * count
				continue
			}
			avx2TileInt16x1(&s.sums[rowSums*first], weights, &s.scales[g], 4*s.stride, words, scales, 4*a.ldx,
				n, 1, &products[0])
			first++
		}
	}
	storePanel(a.y[o-a.lo:], a.ldy, s.sums, a.rows, outputs)
}
