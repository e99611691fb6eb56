package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Activations of 8 bits by VNNI: four products of a code and an activation join a sum of 32 bits in one instruction.
// Rows are those of int8.go, and so are the steps in float32: the bits are the same.

func avx512Int8() {
	unpackQuads()
	for _, n := range []int{12, 8, 4, 2, 1} {
		quadsTile(n)
	}
	quadsRow()
}

// unpackQuads: codes of 16 rows as bytes, transposed in fours as the dot products take them.
func unpackQuads() {
	kernel("avx512UnpackInt8",
		"func(dst, codes *byte, rows *[16]int, groups int)",
		"avx512UnpackInt8 widens groups of 4-bit codes of 16 rows, offsets from codes in bytes, to dst, [groups*16, 32] "+
			"fours, of which it writes the first 16. Fours 2d and 2d+1 of a group are the even and the odd elements of "+
			"8d to 8d+7. Zeros follow an odd number of groups.")
	dst, codes, rows, groups := ptr("dst"), ptr("codes"), ptr("rows"), ptr("groups")
	low := broadcast32(0x0f0f0f0f)
	left := GP64()
	MOVQ(groups, left)
	SHLQ(Imm(3), left) // dwords
	Label("groups")
	mask := maskOf(left, 16)
	for i, v := range transposed16(loadRows(codes, rows, mask)) {
		even, odd := wideHalves(v, low)
		VMOVDQU32(even, Mem{Base: dst, Disp: panelStep * 2 * i})
		VMOVDQU32(odd, Mem{Base: dst, Disp: panelStep * (2*i + 1)})
	}
	advance(codes, 64)
	advance(dst, panelStep*32)
	SUBQ(Imm(16), left)
	JG(LabelRef("groups"))
	VZEROUPPER()
	RET()
}

// wideHalves divides the codes in v: even elements, then odd ones, which take v's place.
func wideHalves(v, low reg.VecVirtual) (even, odd reg.VecVirtual) {
	even = ZMM()
	VPANDD(low, v, even)
	VPSRLW(Imm(4), v, v)
	VPANDD(low, v, v)
	return even, v
}

// joinInt8 is addGroup.
func joinInt8(total, sums reg.VecVirtual, f [3]reg.VecVirtual, scales, biases Mem) {
	VCVTDQ2PS(sums, sums)
	VFMADD213PS(f[1], f[0], sums)
	VFMADD231PS(scales, sums, total)
	VFMADD231PS(biases, f[2], total)
}

// recordFloats is groupFloats; record addresses the start of a group.
func recordFloats(record func(disp int) Mem) (f [3]reg.VecVirtual) {
	for i, at := range []int{int8Scale, int8Rest, int8Sum} {
		f[i] = ZMM()
		VBROADCASTSS(record(64+at), f[i])
	}
	return f
}

// quadsTile is pairsTile on integers of 8 bits.
func quadsTile(n int) {
	kernel(fmt.Sprintf("avx512TileInt8x%d", n),
		"func(t *float32, w *byte, scales, biases *float32, x *byte, ldx, groups int)",
		fmt.Sprintf("avx512TileInt8x%d adds groups of a panel w, [groups*16, 32] fours, with scales and biases "+
			"[groups, 32], to the totals t, [%d, 32]. ldx is in bytes.", n, n))
	t, w, ldx := ptr("t"), ptr("w"), ptr("ldx")
	x := newRowPointers(ptr("x"), ldx, n)
	scales, biases, groups := ptr("scales"), ptr("biases"), ptr("groups")
	chains := 1
	if n <= 4 { // or the latency of a product would show
		chains = 2
	}
	Label("group")
	acc := wideAccumulators(chains, n)
	steps := GP64()
	MOVQ(U32(4), steps)
	Label("step")
	for k := range 4 { // of 16 fours
		weights := panelPair(w, panelStep*k)
		for i := range n {
			v := ZMM()
			VPBROADCASTD(x.at(i, k%2*32+k/2*4), v)
			for m := range 2 {
				VPDPBUSD(v, weights[m], acc[k%chains][i][m])
			}
		}
	}
	advance(w, 4*panelStep)
	x.advance(8)
	DECQ(steps)
	JNZ(LabelRef("step"))
	for i := range n {
		f := recordFloats(func(disp int) Mem { return x.at(i, disp-32) })
		for m := range 2 {
			sums := acc[0][i][m]
			if chains == 2 {
				VPADDD(acc[1][i][m], sums, sums)
			}
			total, to := ZMM(), Mem{Base: t, Disp: 64 * (2*i + m)}
			VMOVUPS(to, total)
			joinInt8(total, sums, f, Mem{Base: scales, Disp: 64 * m}, Mem{Base: biases, Disp: 64 * m})
			VMOVUPS(total, to)
		}
	}
	x.advance(int8Group - 32)
	advance(scales, panelStep)
	advance(biases, panelStep)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// quadsRow is pairsRow on integers of 8 bits.
func quadsRow() {
	kernel("avx512RowInt8",
		"func(t *float32, codes *byte, rows *[16]int, ahead int, scales, biases *float32, x *byte, groups int)",
		"avx512RowInt8 adds groups of one row times 4-bit codes of 16 outputs, offsets rows from codes in bytes, with "+
			"scales and biases [groups, 32], to the totals t, [16]. What lies ahead bytes after the codes is fetched for "+
			"the next call. After an odd number of groups one more is read of x, scales and biases, which has to be zero.")
	codes, rows, scales, biases := ptr("codes"), ptr("rows"), ptr("scales"), ptr("biases")
	x, left, ahead := ptr("x"), ptr("groups"), ptr("ahead")
	ADDQ(codes, ahead)
	low := broadcast32(0x0f0f0f0f)
	t, total := ptr("t"), ZMM()
	VMOVUPS(Mem{Base: t}, total)
	SHLQ(Imm(3), left) // dwords
	Label("groups")
	mask := maskOf(left, 16)
	var v [2]reg.VecVirtual
	for h := range v {
		y := YMM()
		VMOVDQU(Mem{Base: x, Disp: 32 * h}, y)
		v[h] = ZMM()
		VINSERTI64X4(Imm(1), Mem{Base: x, Disp: int8Group + 32*h}, y.AsZ(), v[h])
	}
	acc := make([]reg.VecVirtual, 16)
	for i := range acc {
		offset, c := GP64(), ZMM()
		MOVQ(Mem{Base: rows, Disp: 8 * i}, offset)
		VMOVDQU32_Z(Mem{Base: codes, Index: offset, Scale: 1}, mask, c)
		PREFETCHT1(Mem{Base: ahead, Index: offset, Scale: 1})
		acc[i] = ZMM()
		VPXORD(acc[i], acc[i], acc[i])
		even, odd := wideHalves(c, low)
		VPDPBUSD(v[0], even, acc[i])
		VPDPBUSD(v[1], odd, acc[i])
	}
	first, second := quarterSums(acc, VPADDD)
	for i, sums := range []reg.VecVirtual{first, second} {
		f := recordFloats(func(disp int) Mem { return Mem{Base: x, Disp: int8Group*i + disp} })
		joinInt8(total, sums, f, Mem{Base: scales, Disp: panelStep * i}, Mem{Base: biases, Disp: panelStep * i})
	}
	advance(codes, 64)
	advance(ahead, 64)
	advance(x, 2*int8Group)
	advance(scales, 2*panelStep)
	advance(biases, 2*panelStep)
	SUBQ(Imm(16), left)
	JG(LabelRef("groups"))
	VMOVUPS(total, Mem{Base: t})
	VZEROUPPER()
	RET()
}
