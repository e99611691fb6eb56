package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// denseTile: four outputs of plain weights against tiles of n rows. The sums go on where they stopped.
func denseTile(n int) {
	kernel(fmt.Sprintf("simdDenseTile%d", n),
		"func(t, w *float32, ldw int, x *float32, ldx, steps, count int)",
		fmt.Sprintf("simdDenseTile%d adds steps of 8 weights of four outputs w, ldw bytes apart, to the "+
			"sums t, [count*%d, 4, 8].", n, n)+" "+
			"ldx is in bytes.")
	t, w, ldw, x, ldx, count := ptr("t"), ptr("w"), ptr("ldw"), ptr("x"), ptr("ldx"), ptr("count")
	tileRows(n, t, x, ldx, count, func(rows []reg.Register) {
		weights, last, steps := GP64(), GP64(), GP64()
		MOVQ(w, weights)
		LEAQ(Mem{Base: w, Index: ldw, Scale: 2}, last)
		ADDQ(ldw, last)
		Load(Param("steps"), steps)
		acc := accumulators(n)
		for i := range acc {
			for m := range 4 {
				VMOVUPS(Mem{Base: t, Disp: lane * (4*i + m)}, acc[i][m])
			}
		}
		Label("step")
		tileStep(acc, [4]Mem{
			{Base: weights}, {Base: weights, Index: ldw, Scale: 1}, {Base: weights, Index: ldw, Scale: 2}, {Base: last},
		}, rows, 0, false)
		advance(weights, lane)
		advance(last, lane)
		for _, r := range rows {
			advance(r, lane)
		}
		DECQ(steps)
		JNZ(LabelRef("step"))
		for i := range acc {
			for m := range 4 {
				VMOVUPS(acc[i][m], Mem{Base: t, Disp: lane * (4*i + m)})
			}
		}
	})
	VZEROUPPER()
	RET()
}

// widen: bfloat16 to float32.
func widen() {
	kernel("simdWiden",
		"func(dst *float32, src *byte, blocks int)",
		"simdWiden widens blocks of 8 bfloat16.")
	dst, src, blocks := ptr("dst"), ptr("src"), ptr("blocks")
	times("block", blocks, func() {
		VMOVUPS(widenBF16(Mem{Base: src}), Mem{Base: dst})
		advance(src, 16)
		advance(dst, lane)
	})
	VZEROUPPER()
	RET()
}

// pack4: activations in the order of 4-bit codes, and their sums.
func pack4() {
	kernel("avx2Pack4",
		"func(dst, sums, x *float32, groups int)",
		"avx2Pack4 writes each group of x, taken as an 8 by 8 matrix, transposed, row k times 16^-k (the "+
			"last row as it is).")
	scale := broadcasts("powers", 1.0/16, 1.0/256, 1.0/4096, 1.0/65536, 1.0/1048576, 1.0/16777216)
	dst, sums, x, groups := ptr("dst"), ptr("sums"), ptr("x"), ptr("groups")
	times("group", groups, func() {
		var r [8]reg.VecVirtual
		for i := range r {
			r[i] = YMM()
			VMOVUPS(Mem{Base: x, Disp: lane * i}, r[i])
		}
		// The sum: eight lanes over the rows in order, then across.
		total := YMM()
		VADDPS(r[1], r[0], total)
		for i := 2; i < 8; i++ {
			VADDPS(r[i], total, total)
		}
		VMOVSS(sum8(total), Mem{Base: sums})
		for k, row := range transpose(r) {
			if k > 0 && k < 7 {
				VMULPS(scale(k-1), row, row)
			}
			VMOVUPS(row, Mem{Base: dst, Disp: lane * k})
		}
		advance(x, 256)
		advance(dst, 256)
		advance(sums, 4)
	})
	VZEROUPPER()
	RET()
}

// transpose swaps rows and lanes: within pairs, within quads, then between halves.
func transpose(r [8]reg.VecVirtual) [8]reg.VecVirtual {
	var pairs, quads, out [8]reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		pairs[i], pairs[i+1] = YMM(), YMM()
		VUNPCKLPS(r[i+1], r[i], pairs[i])
		VUNPCKHPS(r[i+1], r[i], pairs[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			lo, hi := pairs[i+j], pairs[i+j+2]
			quads[i+2*j], quads[i+2*j+1] = YMM(), YMM()
			VSHUFPS(Imm(0x44), hi, lo, quads[i+2*j])
			VSHUFPS(Imm(0xee), hi, lo, quads[i+2*j+1])
		}
	}
	for i := range 4 {
		out[i], out[i+4] = YMM(), YMM()
		VPERM2F128(Imm(0x20), quads[i+4], quads[i], out[i])
		VPERM2F128(Imm(0x31), quads[i+4], quads[i], out[i+4])
	}
	return out
}
