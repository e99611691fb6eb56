//go:build !noasm

package cpu

import "unsafe"

// neonDotKernels are neonKernels with 4-bit products on activations of 16 bits, as two signed digits of 8 bits that the
// dot product instruction takes (FEAT_DotProd). Integer products are exact. 8-bit matrices (the router) keep float32.
var neonDotKernels = func() *kernelSet {
	k := *neonKernels
	k.name, k.rounds, k.pack, k.affine = "neon-int16", true, neonDotPack, neonDotAffine
	return &k
}()

// digitLimit is the largest integer of two signed digits.
const digitLimit = 127*256 + 127

// neonDotPack rounds each group and splits it: the high digits of even elements (low nibbles) and of odd elements of
// the first 32, the same of the last 32, then the low digits so.
func neonDotPack(dst, x []float32, bits int) {
	if bits != 4 {
		neonPack(dst, x, bits)
		return
	}
	in := len(x)
	clearInt16Row(dst, in)
	scales, sums := dst[in/2:], dst[in:]
	digits := unsafe.Slice((*int8)(unsafe.Pointer(&dst[0])), 2*in)
	for g := range in / groupSize {
		group, out := x[g*groupSize:][:groupSize], digits[2*g*groupSize:][:2*groupSize]
		scales[g], sums[g] = splitGroup(out, group)
	}
}

func splitGroup(out []int8, x []float32) (scale, sum float32) {
	largest := float32(1e-30)
	for _, v := range x {
		largest = max(largest, v, -v)
	}
	inverse := digitLimit / largest
	total := 0
	for i, v := range x {
		const magic = 3 << 22 // adding it rounds to an integer
		n := int(float32(float32(v*inverse)+magic) - magic)
		n = min(max(n, -digitLimit), digitLimit)
		total += n
		low := int8(n)
		at := i/32*32 + i%2*16 + i%32/2
		out[at], out[groupSize+at] = int8((n-int(low))>>8), low
	}
	scale = largest / digitLimit
	return scale, scale * float32(total)
}

func neonDotAffine(a affineCall) {
	if a.w.Bits != 4 {
		neonAffine(a)
		return
	}
	affineRows(a, 0, nil, neonDotPanel)
}

// neonDotPanel computes outputs o to o+3, of those below a.hi, for all rows. The codes are small enough to be unpacked
// again for each row.
func neonDotPanel(a affineCall, o int) {
	groups, rowBytes := a.w.In/groupSize, a.w.In/2
	s, outputs := beginPanel(a, o)
	for r := range a.rows {
		x := int16RowAt(a.x[r*a.ldx:], a.w.In)
		sums := s.sums[r*rowSums:][:rowSums]
		if outputs == panelOutputs {
			neonDotTile(&sums[0], &a.w.Codes[o*rowBytes], rowBytes, &s.scales[0], 4*s.stride, (*int8)(x.integers),
				x.scales, groups)
			continue
		}
		for m := range outputs { // one at a time, as four equal ones
			var t [rowSums]float32
			copy(t[:], sums[m*sumLanes:][:sumLanes])
			neonDotTile(&t[0], &a.w.Codes[(o+m)*rowBytes], 0, &s.scales[m*s.stride], 0, (*int8)(x.integers), x.scales, groups)
			copy(sums[m*sumLanes:][:sumLanes], t[:])
		}
	}
	storePanel(a.y[o-a.lo:], a.ldy, s.sums, a.rows, outputs)
}
