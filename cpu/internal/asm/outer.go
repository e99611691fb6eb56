package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// outerWidth is the registers of a panel: 24 outputs, one in each lane. With four rows it takes 12 sums, and 7 loads for 12
// multiplications.
const outerWidth = 3

// outerTile: tiles of n rows against one panel. Nothing is summed across lanes. While a tile is multiplied the rows of the
// next are asked for: their pieces are too short for the machine to see them coming.
func outerTile(n int) {
	kernel(fmt.Sprintf("avx2OuterTile%d", n),
		"func(y *float32, ldy int, x *float32, ldx int, w *float32, depth, count, add int)",
		fmt.Sprintf("avx2OuterTile%d multiplies count times %d rows of depth elements with w, [depth, 24]: "+
			"24 elements of each row of y, which are added to unless add is 0. ldy and ldx are in bytes.", n, n))
	y, ldy, x, ldx, count := ptr("y"), ptr("ldy"), ptr("x"), ptr("ldx"), ptr("count")
	times("tile", count, func() {
		this, next := GP64(), GP64()
		MOVQ(x, this)
		rows := newRowPointers(this, ldx, n)
		for range n {
			ADDQ(ldx, x)
		}
		MOVQ(x, next)
		ahead := newRowPointers(next, ldx, n)
		w, depth := ptr("w"), ptr("depth")
		acc := make([][outerWidth]reg.VecVirtual, n)
		for i := range acc {
			for m := range acc[i] {
				acc[i][m] = zero()
			}
		}
		const unrolled = 8
		steps := func(count int) {
			for k := range count {
				outerStep(acc, rows, w, k)
			}
			advance(w, count*outerWidth*lane)
			rows.advance(4 * count)
		}
		SUBQ(Imm(unrolled), depth)
		JL(LabelRef("rest"))
		Label("steps")
		for i := range n {
			PREFETCHT0(ahead.at(i, 0))
		}
		ahead.advance(4 * unrolled)
		steps(unrolled)
		SUBQ(Imm(unrolled), depth)
		JGE(LabelRef("steps"))
		Label("rest")
		ADDQ(Imm(unrolled), depth)
		times("step", depth, func() { steps(1) })
		storeOuter(acc, y, ldy)
	})
	VZEROUPPER()
	RET()
}

// outerStep takes element k of every row.
func outerStep(acc [][outerWidth]reg.VecVirtual, rows rowPointers, w reg.Register, k int) {
	var weights [outerWidth]reg.VecVirtual
	for m := range weights {
		weights[m] = YMM()
		VMOVUPS(Mem{Base: w, Disp: lane * (outerWidth*k + m)}, weights[m])
	}
	for i := range acc {
		v := YMM()
		VBROADCASTSS(rows.at(i, 4*k), v)
		for m := range weights {
			VFMADD231PS(weights[m], v, acc[i][m])
		}
	}
}

// storeOuter writes the sums of a tile, or adds them, and moves y on.
func storeOuter(acc [][outerWidth]reg.VecVirtual, y, ldy reg.Register) {
	add, row := ptr("add"), GP64()
	TESTQ(add, add)
	JZ(LabelRef("store"))
	MOVQ(y, row)
	for i := range acc {
		for m := range acc[i] {
			VADDPS(Mem{Base: row, Disp: lane * m}, acc[i][m], acc[i][m])
		}
		ADDQ(ldy, row)
	}
	Label("store")
	for i := range acc {
		for m := range acc[i] {
			VMOVUPS(acc[i][m], Mem{Base: y, Disp: lane * m})
		}
		ADDQ(ldy, y)
	}
}

// outerColumns: bfloat16 of 8 rows, transposed. Rows i and i+4 share a register, in its halves; a word of zeros below
// each bfloat16 widens it.
func outerColumns() {
	kernel("avx2Columns",
		"func(dst *float32, src *byte, rows *[8]int, blocks int)",
		"avx2Columns widens blocks of 8 bfloat16 of 8 rows, offsets from src in bytes, to dst, [blocks*8, 24], of which it "+
			"writes the first 8. It asks for what lies 256 bytes on.")
	dst, src, rows, blocks := ptr("dst"), ptr("src"), ptr("rows"), ptr("blocks")
	zeros := zero()
	times("block", blocks, func() {
		r := halves(func(i int) Mem {
			m := row(src, rows, i)
			PREFETCHT0(m.Offset(256))
			return m
		}, 0)
		var pairs, quads [4]reg.VecVirtual
		unpack := func(a, b reg.VecVirtual, how func(ops ...Op)) reg.VecVirtual {
			v := YMM()
			how(b, a, v)
			return v
		}
		for i := range 2 { // columns 0 to 3, 4 to 7
			how := []func(ops ...Op){VPUNPCKLWD, VPUNPCKHWD}[i]
			pairs[2*i], pairs[2*i+1] = unpack(r[0], r[1], how), unpack(r[2], r[3], how)
		}
		for i := range quads { // columns 2i, 2i+1
			quads[i] = unpack(pairs[i/2*2], pairs[i/2*2+1], []func(ops ...Op){VPUNPCKLDQ, VPUNPCKHDQ}[i%2])
		}
		for i := range 8 {
			column := unpack(zeros, quads[i/2], []func(ops ...Op){VPUNPCKLWD, VPUNPCKHWD}[i%2])
			VMOVUPS(column, Mem{Base: dst, Disp: outerWidth * lane * i})
		}
		advance(src, 16)
		advance(dst, 8*outerWidth*lane)
	})
	VZEROUPPER()
	RET()
}
