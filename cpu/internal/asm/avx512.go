package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of 512 bits keep one output in each lane: weights of 16 outputs are transposed as they are unpacked, a
// panel is two such columns wide, and each activation is broadcast. Nothing is summed across lanes, and a row costs no
// more registers than its two columns.

// panelStep is the bytes of one input's weights in a panel: 32 outputs.
const panelStep = 128

func avx512() {
	columns()
	unpackFloat(4)
	unpackFloat(8)
	unpackPairs()
	for _, n := range []int{6, 4, 2, 1} {
		floatTile(n, true)
		floatTile(n, false)
	}
	for _, vnni := range []bool{true, false} {
		for _, n := range []int{12, 8, 4, 2, 1} {
			pairsTile(n, vnni)
		}
		pairsRow(vnni)
	}
	avx512Int8()
	for _, half := range []bool{true, false} {
		for _, nq := range []int{4, 2, 1} {
			wideScores(nq, half)
		}
		for _, t := range [][2]int{{4, 4}, {4, 1}, {2, 8}, {2, 1}, {1, 8}, {1, 1}} {
			values(t[0], t[1], half)
		}
	}
	expSum()
	geglu()
}

// maskOf has the first n of most elements, all when there are more.
func maskOf(n reg.Register, most int) reg.Register {
	count, bits, mask := GP64(), GP64(), K()
	MOVQ(U32(uint32(most)), count)
	CMPQ(n, count)
	CMOVQLT(n, count)
	MOVQ(I32(-1), bits)
	BZHIQ(count, bits, bits)
	KMOVQ(bits, mask)
	return mask
}

// row is the address of row i at base: rows holds 16 offsets.
func row(base, rows reg.Register, i int) Mem {
	offset := GP64()
	MOVQ(Mem{Base: rows, Disp: 8 * i}, offset)
	return Mem{Base: base, Index: offset, Scale: 1}
}

// shuffled is the quarters of a chosen by the low half of imm, then those of b by its high half.
func shuffled(imm uint64, a, b reg.VecVirtual) reg.VecVirtual {
	z := ZMM()
	VSHUFF32X4(Imm(imm), b, a, z)
	return z
}

// even and odd are the quarters that a pair of registers is shuffled by.
const even, odd = 0x88, 0xdd

// transposed16 swaps rows and lanes: within pairs, within quads, then whole quarters.
func transposed16(r [16]reg.VecVirtual) (out [16]reg.VecVirtual) {
	var quads [4][4]reg.VecVirtual // lane 4q+i of quads[m][c] is element 4q+c of row 4m+i
	for m := range quads {
		var pairs [4]reg.VecVirtual
		for i := range 2 {
			a, b := r[4*m+2*i], r[4*m+2*i+1]
			pairs[i], pairs[i+2] = ZMM(), ZMM()
			VUNPCKLPS(b, a, pairs[i])
			VUNPCKHPS(b, a, pairs[i+2])
		}
		for c := range quads[m] {
			quads[m][c] = ZMM()
			VSHUFPS(Imm([]uint64{0x44, 0xee}[c%2]), pairs[c/2*2+1], pairs[c/2*2], quads[m][c])
		}
	}
	for c := range 4 {
		for i, imm := range []uint64{even, odd} {
			low := shuffled(imm, quads[0][c], quads[1][c])
			high := shuffled(imm, quads[2][c], quads[3][c])
			out[4*i+c], out[4*(i+2)+c] = shuffled(even, low, high), shuffled(odd, low, high)
		}
	}
	return out
}

// add is VADDPS or VPADDD.
type add func(ops ...Op)

// quarterSums is the sums of up to 16 registers within each half: lane i of low is that of the first eight lanes of
// r[i], of high that of the last eight. Elements 0 and 2, 1 and 3 of a quarter first, then both, then both quarters.
func quarterSums(r []reg.VecVirtual, sum add) (low, high reg.VecVirtual) {
	level := func(r []reg.VecVirtual, lo, hi func(a, b, z reg.VecVirtual)) (out []reg.VecVirtual) {
		for i := 0; i < len(r); i += 2 {
			a, b := r[i], r[min(i+1, len(r)-1)]
			x, y := ZMM(), ZMM()
			lo(a, b, x)
			hi(a, b, y)
			sum(y, x, x)
			out = append(out, x)
		}
		return out
	}
	r = level(r, func(a, b, z reg.VecVirtual) { VUNPCKLPS(b, a, z) }, func(a, b, z reg.VecVirtual) { VUNPCKHPS(b, a, z) })
	r = level(r, func(a, b, z reg.VecVirtual) { VUNPCKLPD(b, a, z) }, func(a, b, z reg.VecVirtual) { VUNPCKHPD(b, a, z) })
	quarters := func(imm uint64) func(a, b, z reg.VecVirtual) {
		return func(a, b, z reg.VecVirtual) { VSHUFF32X4(Imm(imm), b, a, z) }
	}
	r = level(r, quarters(even), quarters(odd))
	last := r[len(r)-1]
	return shuffled(even, r[0], last), shuffled(odd, r[0], last)
}
