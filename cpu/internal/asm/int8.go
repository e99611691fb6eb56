package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Activations of 8 bits, as int8_row.go of package cpu defines them. A product of a code and an activation is at most
// 15*127, so the pairs that vpmaddubsw makes of half a group, eight registers of them, fit 16 bits. Integer sums are
// exact in any order; the float32 sums over groups have one lane per output.

const (
	int8Group = 80  // bytes of a group of a packed row
	int8Panel = 512 // bytes of a group of a panel of eight outputs, a code each
	int8Scale = 0   // where the floats after the integers stand
	int8Rest  = 4
	int8Sum   = 8
)

// packInt8: groups of activations as integers, even elements first, then step, rest and sum.
func packInt8() {
	kernel("avx2PackInt8",
		"func(dst *byte, x *float32, groups int)",
		"avx2PackInt8 writes groups of x as an int8Row.")
	magnitude := table("magnitude", 4, repeat(U32(0x7fffffff), 8)...)
	limits := broadcasts("int8_limits", 127, 1e-30, 8)
	var split []Constant // words of even bytes, then of odd ones, in both halves
	for range 2 {
		for odd := range 2 {
			for i := range 8 {
				split = append(split, U8(2*i+odd))
			}
		}
	}
	order := table("int8_split", 1, split...)
	dst, x := ptr("dst"), ptr("x")
	abs, shuffle := YMM(), YMM()
	VMOVUPS(magnitude, abs)
	VMOVDQU(order, shuffle)
	times("group", ptr("groups"), func() {
		largest, sum, v := YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: x}, sum)
		VANDPS(sum, abs, largest)
		for i := 1; i < 8; i++ {
			VMOVUPS(Mem{Base: x, Disp: lane * i}, v)
			VADDPS(v, sum, sum)
			VANDPS(v, abs, v)
			VMAXPS(v, largest, largest)
		}
		m := max8(largest)
		VMAXSS(limits(1), m, m)
		inverse, scale := XMM(), XMM()
		VMOVSS(limits(0), inverse)
		VDIVSS(m, inverse, inverse)
		VDIVSS(limits(0), m, scale)
		factor := YMM()
		VBROADCASTSS(inverse, factor)

		total := YMM()
		for half := range 2 {
			var words [2]reg.VecVirtual
			for i := range words {
				lo, hi := YMM(), YMM()
				for j, y := range []reg.VecVirtual{lo, hi} {
					VMULPS(Mem{Base: x, Disp: lane * (4*half + 2*i + j)}, factor, y)
					VCVTPS2DQ(y, y)
					if half+i+j == 0 {
						VMOVDQA(y, total)
					} else {
						VPADDD(y, total, total)
					}
				}
				words[i] = YMM()
				VPACKSSDW(hi, lo, words[i])
			}
			bytes, above, part := YMM(), XMM(), XMM()
			VPACKSSWB(words[1], words[0], bytes)
			VPSHUFB(shuffle, bytes, bytes)
			VEXTRACTI128(Imm(1), bytes, above)
			VPUNPCKLWD(above, bytes.AsX(), part)
			VMOVDQU(part, Mem{Base: dst, Disp: 16 * half})
			VPUNPCKHWD(above, bytes.AsX(), part)
			VMOVDQU(part, Mem{Base: dst, Disp: 32 + 16*half})
		}

		integers := XMM()
		VEXTRACTI128(Imm(1), total, integers)
		VPADDD(total.AsX(), integers, integers)
		VPHADDD(integers, integers, integers)
		VPHADDD(integers, integers, integers)
		VCVTDQ2PS(integers, integers)
		exact := sum8(sum)
		VMOVSS(scale, Mem{Base: dst, Disp: 64 + int8Scale})
		VMOVSS(exact, Mem{Base: dst, Disp: 64 + int8Sum})
		VFNMADD231SS(scale, integers, exact)
		VMULSS(limits(2), exact, exact)
		VMOVSS(exact, Mem{Base: dst, Disp: 64 + int8Rest})
		advance(x, 256)
		advance(dst, int8Group)
	})
	VZEROUPPER()
	RET()
}

// eightRows addresses eight rows, stride bytes apart: rows 0 to 3 from base, the others from four strides on.
func eightRows(base, stride reg.Register) func(row int) Mem {
	upper, third := GP64(), GP64()
	LEAQ(Mem{Base: base, Index: stride, Scale: 4}, upper)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, third)
	return func(row int) Mem {
		m := Mem{Base: base}
		if row >= 4 {
			m.Base = upper
		}
		switch row % 4 {
		case 1:
			m.Index, m.Scale = stride, 1
		case 2:
			m.Index, m.Scale = stride, 2
		case 3:
			m.Index, m.Scale = third, 1
		}
		return m
	}
}

// halves loads 16 bytes of each row, disp bytes on: register j holds those of rows j and j+4.
func halves(row func(int) Mem, disp int) (y [4]reg.VecVirtual) {
	for j := range y {
		y[j] = YMM()
		VMOVDQU(row(j).Offset(disp), y[j].AsX())
		VINSERTI128(Imm(1), row(j+4).Offset(disp), y[j], y[j])
	}
	return y
}

// dwords makes dword d of every row, rows 0 to 3 in the lower half, of halves. Its registers are used up.
func dwords(y [4]reg.VecVirtual) (d [4]reg.VecVirtual) {
	var t [4]reg.VecVirtual
	for i := range 2 {
		t[i], t[i+2] = YMM(), YMM()
		VPUNPCKLDQ(y[2*i+1], y[2*i], t[i])
		VPUNPCKHDQ(y[2*i+1], y[2*i], t[i+2])
	}
	for i := range 2 {
		d[2*i], d[2*i+1] = YMM(), YMM()
		VPUNPCKLQDQ(t[2*i+1], t[2*i], d[2*i])
		VPUNPCKHQDQ(t[2*i+1], t[2*i], d[2*i+1])
	}
	return d
}

// scalesInt8: the scales and biases of eight outputs, one group after the other.
func scalesInt8() {
	kernel("avx2ScalesInt8",
		"func(dst *float32, scales, biases *byte, stride, blocks int)",
		"avx2ScalesInt8 widens blocks of 8 groups of the scales and biases of eight outputs, stride bytes apart, to "+
			"dst, [8*blocks, 2, 8].")
	dst, stride := ptr("dst"), ptr("stride")
	none := zero()
	first := []reg.Register{ptr("scales"), ptr("biases")}
	rows := []func(int) Mem{eightRows(first[0], stride), eightRows(first[1], stride)}
	next := []reg.Register{GP64(), GP64()}
	for i, from := range first {
		LEAQ(Mem{Base: from, Index: stride, Scale: 8}, next[i])
	}
	times("block", ptr("blocks"), func() {
		for i, row := range rows {
			PREFETCHT0(Mem{Base: next[i]})
			PREFETCHT0(Mem{Base: next[i], Disp: 64})
			advance(next[i], 128)
			words := halves(row, 0)
			var pairs [4]reg.VecVirtual // words of rows 0 and 1, then of rows 2 and 3, of four groups each
			for j := range 2 {
				pairs[j], pairs[j+2] = YMM(), YMM()
				VPUNPCKLWD(words[2*j+1], words[2*j], pairs[j])
				VPUNPCKHWD(words[2*j+1], words[2*j], pairs[j+2])
			}
			for j := range 4 {
				fours, y := YMM(), YMM() // rows 0 to 3 of groups 2j and 2j+1
				if j%2 == 0 {
					VPUNPCKLDQ(pairs[j/2*2+1], pairs[j/2*2], fours)
				} else {
					VPUNPCKHDQ(pairs[j/2*2+1], pairs[j/2*2], fours)
				}
				VPUNPCKLWD(fours, none, y)
				VMOVUPS(y, Mem{Base: dst, Disp: lane * (4*j + i)})
				VPUNPCKHWD(fours, none, fours)
				VMOVUPS(fours, Mem{Base: dst, Disp: lane * (4*j + 2 + i)})
			}
		}
		for _, r := range rows {
			advanceRows(r, 16)
		}
		advance(dst, 16*lane)
	})
	VZEROUPPER()
	RET()
}

// advanceRows moves rows of eightRows on.
func advanceRows(row func(int) Mem, bytes int) {
	advance(row(0).Base, bytes)
	advance(row(4).Base, bytes)
}

// byteMask has the low nibble of every byte.
func byteMask() reg.VecVirtual {
	y := YMM()
	VMOVDQU(table("low_half_bytes", 4, repeat(U32(0x0f0f0f0f), 8)...), y)
	return y
}

// splitBytes divides the codes in v: even elements, then odd ones, which take v's place.
func splitBytes(v, mask reg.VecVirtual) (even, odd reg.VecVirtual) {
	even = YMM()
	VPAND(mask, v, even)
	VPSRLW(Imm(4), v, v)
	VPAND(mask, v, v)
	return even, v
}

// wordOnes turns pairs of 16 bits into their sums of 32 bits, by vpmaddwd.
func wordOnes() Mem { return table("word_ones", 4, repeat(U32(0x00010001), 8)...) }

// groupFloats has what stands behind the integers of a group in all lanes: step, rest and sum.
func groupFloats(x reg.Register) (f [3]reg.VecVirtual) {
	for i, at := range []int{int8Scale, int8Rest, int8Sum} {
		f[i] = YMM()
		VBROADCASTSS(Mem{Base: x, Disp: 64 + at}, f[i])
	}
	return f
}

// addGroup adds a group, whose integer sums are used up, to y: y += scale*(step*sums + rest), then y += bias*sum.
func addGroup(y, sums reg.VecVirtual, f [3]reg.VecVirtual, scales Mem) {
	VCVTDQ2PS(sums, sums)
	VFMADD213PS(f[1], f[0], sums)
	VFMADD231PS(scales, sums, y)
	VFMADD231PS(scales.Offset(lane), f[2], y)
}

// gemvInt8: one row against eight outputs. The codes stay in their order; the sums of the outputs, eight lanes of 32
// bits each, are folded into one register by a tree.
func gemvInt8() {
	kernel("avx2GemvInt8",
		"func(y *float32, codes *byte, stride int, scales *float32, x *byte, groups int)",
		"avx2GemvInt8 multiplies one packed row with eight outputs of 4-bit codes, stride bytes apart. scales are those "+
			"of avx2ScalesInt8.")
	codes, stride, scales, x := ptr("codes"), ptr("stride"), ptr("scales"), ptr("x")
	// The codes that follow these eight outputs: eight streams are more than prefetchers see through.
	next := GP64()
	LEAQ(Mem{Base: codes, Index: stride, Scale: 8}, next)
	row := eightRows(codes, stride)
	mask, y := byteMask(), zero()
	times("group", ptr("groups"), func() {
		for i := range 4 {
			PREFETCHT0(Mem{Base: next, Disp: 64 * i})
		}
		advance(next, 256)
		evens, odds := YMM(), YMM()
		VMOVDQU(Mem{Base: x}, evens)
		VMOVDQU(Mem{Base: x, Disp: lane}, odds)
		sums := func(output int) reg.VecVirtual { // 16 bits, within 4*15*127
			v := YMM()
			VMOVDQU(row(output), v)
			lo, hi := splitBytes(v, mask)
			VPMADDUBSW(evens, lo, lo)
			VPMADDUBSW(odds, hi, hi)
			VPADDW(hi, lo, lo)
			return lo
		}
		fold := func(a, b reg.VecVirtual, lower, upper func(ops ...Op)) reg.VecVirtual {
			t := YMM()
			lower(b, a, t)
			upper(b, a, a)
			VPADDW(t, a, a)
			return a
		}
		fours := func(first int) reg.VecVirtual { // four outputs in the dwords of each half
			var pairs [2]reg.VecVirtual
			for i := range pairs {
				a, b := sums(first+2*i), sums(first+2*i+1)
				pairs[i] = fold(a, b, VPUNPCKLDQ, VPUNPCKHDQ)
			}
			a := fold(pairs[0], pairs[1], VPUNPCKLQDQ, VPUNPCKHQDQ)
			VPMADDWD(wordOnes(), a, a)
			return a
		}
		a, b, t := fours(0), fours(4), YMM()
		VPERM2I128(Imm(0x20), b, a, t)
		VPERM2I128(Imm(0x31), b, a, a)
		VPADDD(t, a, a)
		addGroup(y, a, groupFloats(x), Mem{Base: scales})
		advanceRows(row, 32)
		advance(x, int8Group)
		advance(scales, 2*lane)
	})
	VMOVUPS(y, Mem{Base: ptr("y")})
	VZEROUPPER()
	RET()
}

// unpackInt8: the codes of eight outputs as bytes, four elements of each output to a register.
func unpackInt8() {
	kernel("avx2UnpackInt8",
		"func(dst, codes *byte, stride, groups int)",
		"avx2UnpackInt8 widens groups of 4-bit codes of eight outputs, stride bytes apart, to dst, [groups, 8, 2, 8, 4]: "+
			"the even, then the odd elements of eight, of each output.")
	dst, codes, stride := ptr("dst"), ptr("codes"), ptr("stride")
	row := eightRows(codes, stride)
	mask := byteMask()
	times("group", ptr("groups"), func() {
		for half := range 2 {
			for i, d := range dwords(halves(row, 16*half)) {
				even, odd := splitBytes(d, mask)
				VMOVDQU(even, Mem{Base: dst, Disp: lane * (8*half + 2*i)})
				VMOVDQU(odd, Mem{Base: dst, Disp: lane * (8*half + 2*i + 1)})
			}
		}
		advanceRows(row, 32)
		advance(dst, int8Panel)
	})
	VZEROUPPER()
	RET()
}

// tileInt8: one or two panels of eight outputs against tiles of n rows, in avx2GemvInt8's order of operations per
// element. Each register of codes meets every row, and each word of activations every panel.
func tileInt8(panels, n int) {
	kernel(fmt.Sprintf("avx2TileInt8x%dx%d", panels, n),
		"func(t *float32, w *byte, scales *float32, scaleStride int, x *byte, ldx, groups, count int)",
		fmt.Sprintf("avx2TileInt8x%dx%d adds groups of panels w, [%d, panelGroups*512] codes, to the sums t, "+
			"[count*%d, %d, 8]. Strides are in bytes; scales are those of avx2ScalesInt8, scaleStride from one panel to "+
			"the next.", panels, n, panels, n, panels))
	t, x, ldx := ptr("t"), ptr("x"), ptr("ldx")
	times("tile", ptr("count"), func() {
		weights, groups := ptr("w"), ptr("groups")
		scales, rows := make([]reg.Register, panels), make([]reg.Register, n)
		for p := range scales {
			scales[p] = ptr("scales")
			if p > 0 {
				stride := ptr("scaleStride")
				ADDQ(stride, scales[p])
			}
		}
		for i := range rows {
			rows[i] = GP64()
			MOVQ(x, rows[i])
			ADDQ(ldx, x)
		}
		Label("group")
		acc := make([][2]reg.VecVirtual, n)
		for half := range 2 {
			words := tileWords(half, panels, weights, rows)
			for i := range rows {
				for p := range panels {
					VPMADDWD(wordOnes(), words[i][p], words[i][p])
					if half == 0 {
						acc[i][p] = words[i][p]
					} else {
						VPADDD(words[i][p], acc[i][p], acc[i][p])
					}
				}
			}
		}
		for i := range rows {
			f := groupFloats(rows[i])
			for p := range panels {
				sum, y := Mem{Base: t, Disp: lane * (panels*i + p)}, YMM()
				VMOVUPS(sum, y)
				addGroup(y, acc[i][p], f, Mem{Base: scales[p]})
				VMOVUPS(y, sum)
			}
		}
		advance(weights, int8Panel)
		for _, r := range rows {
			advance(r, int8Group)
		}
		for _, s := range scales {
			advance(s, 2*lane)
		}
		DECQ(groups)
		JNZ(LabelRef("group"))
		advance(t, n*panels*lane)
	})
	VZEROUPPER()
	RET()
}

// tileWords sums half a group in words: pairs of products with eight registers of codes of each panel.
func tileWords(half, panels int, weights reg.Register, rows []reg.Register) [][2]reg.VecVirtual {
	acc := make([][2]reg.VecVirtual, len(rows))
	for k := range 8 {
		var w [2]reg.VecVirtual
		for p := range panels {
			w[p] = YMM()
			VMOVDQU(Mem{Base: weights, Disp: 8*int8Panel*p + lane*(8*half+k)}, w[p])
		}
		for i, r := range rows {
			x := YMM()
			VPBROADCASTD(Mem{Base: r, Disp: k%2*32 + 16*half + k/2*4}, x)
			for p := range panels {
				product := YMM()
				VPMADDUBSW(x, w[p], product)
				if k == 0 {
					acc[i][p] = product
				} else {
					VPADDW(product, acc[i][p], acc[i][p])
				}
			}
		}
	}
	return acc
}

func int8Kernels() {
	packInt8()
	scalesInt8()
	gemvInt8()
	unpackInt8()
	for panels := 1; panels <= 2; panels++ {
		tileInt8(panels, 2)
		tileInt8(panels, 3)
	}
}
