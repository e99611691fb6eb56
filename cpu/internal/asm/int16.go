package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Activations of 16 bits: a group of 64 is a scale and integers within +-32767. Word w of a group's codes holds the
// nibbles of elements 4w to 4w+3; nibble p of all 16 words meets part p of the activations, which holds elements 4w+p
// in order of w. Products of codes and activations are summed in 32-bit integers, exactly; lane j sums elements 8j to
// 8j+7.

// packInt16: groups of activations as integers in parts, their scale, and scale times the sum of the integers.
func packInt16() {
	kernel("avx2PackInt16",
		"func(dst *int16, scales, sums, x *float32, groups int)",
		"avx2PackInt16 rounds each group of x to integers within 32767 and writes them in four parts of "+
			"16; scales receives "+
			"the value of one step, sums the sum of the rounded group.")
	magnitude := table("magnitude", 4, repeat(U32(0x7fffffff), 8)...)
	limits := broadcasts("int16_limits", 32767, 1e-30)
	// Four consecutive words of each half become one word of each part.
	var gather []Constant
	for range 2 {
		for p := range 4 {
			for w := range 2 {
				gather = append(gather, U8(2*(4*w+p)), U8(2*(4*w+p)+1))
			}
		}
	}
	shuffle := table("int16_gather", 1, gather...)
	order := table("int16_order", 4, U32(0), U32(4), U32(1), U32(5), U32(2), U32(6), U32(3), U32(7))
	dst, scales, sums, x, groups := ptr("dst"), ptr("scales"), ptr("sums"), ptr("x"), ptr("groups")
	abs, permute := YMM(), YMM()
	VMOVUPS(magnitude, abs)
	VMOVDQU(order, permute)
	times("group", groups, func() {
		largest, v := YMM(), YMM()
		VANDPS(Mem{Base: x}, abs, largest)
		for i := 1; i < 8; i++ {
			VANDPS(Mem{Base: x, Disp: lane * i}, abs, v)
			VMAXPS(v, largest, largest)
		}
		m := max8(largest)
		VMAXSS(limits(1), m, m)
		inverse, scale := XMM(), XMM()
		VMOVSS(limits(0), inverse)
		VDIVSS(m, inverse, inverse)
		VDIVSS(limits(0), m, scale)
		VMOVSS(scale, Mem{Base: scales})
		factor := YMM()
		VBROADCASTSS(inverse, factor)

		total := YMM()
		var words [4]reg.VecVirtual
		for i := range words {
			lo, hi := YMM(), YMM()
			for j, y := range []reg.VecVirtual{lo, hi} {
				VMULPS(Mem{Base: x, Disp: lane * (2*i + j)}, factor, y)
				VCVTPS2DQ(y, y)
				if i+j == 0 {
					VMOVDQA(y, total)
				} else {
					VPADDD(y, total, total)
				}
			}
			words[i] = YMM()
			VPACKSSDW(hi, lo, words[i])
			VPERMQ(Imm(0xd8), words[i], words[i])
			VPSHUFB(shuffle, words[i], words[i])
		}
		var pairs [4]reg.VecVirtual
		for i := range 2 {
			pairs[i], pairs[i+2] = YMM(), YMM()
			VPUNPCKLDQ(words[2*i+1], words[2*i], pairs[i])
			VPUNPCKHDQ(words[2*i+1], words[2*i], pairs[i+2])
		}
		for i := range 2 {
			for h := range 2 {
				part := YMM()
				if h == 0 {
					VPUNPCKLQDQ(pairs[2*i+1], pairs[2*i], part)
				} else {
					VPUNPCKHQDQ(pairs[2*i+1], pairs[2*i], part)
				}
				VPERMD(part, permute, part)
				VMOVDQU(part, Mem{Base: dst, Disp: lane * (2*i + h)})
			}
		}

		half := XMM()
		VEXTRACTI128(Imm(1), total, half)
		VPADDD(total.AsX(), half, half)
		VPHADDD(half, half, half)
		VPHADDD(half, half, half)
		VCVTDQ2PS(half, half)
		VMULSS(scale, half, half)
		VMOVSS(half, Mem{Base: sums})
		advance(x, 256)
		advance(dst, 128)
		advance(scales, 4)
		advance(sums, 4)
	})
	VZEROUPPER()
	RET()
}

func repeat(c Constant, n int) []Constant {
	all := make([]Constant, n)
	for i := range all {
		all[i] = c
	}
	return all
}

// wordMask has the low nibble of every word.
func wordMask() reg.VecVirtual {
	y := YMM()
	VMOVDQU(table("low_nibbles", 4, repeat(U32(0x000f000f), 8)...), y)
	return y
}

// nibbles is part p of the codes v.
func nibbles(v reg.VecVirtual, p int, mask reg.VecVirtual) reg.VecVirtual {
	y := YMM()
	switch p {
	case 0:
		VPAND(mask, v, y)
	case 3:
		VPSRLW(Imm(12), v, y)
	default:
		VPSRLW(Imm(uint64(4*p)), v, y)
		VPAND(mask, y, y)
	}
	return y
}

// gemvInt16 is gemv on integers: total += scale * float(lanes of codes times activations).
func gemvInt16() {
	kernel("avx2GemvInt16",
		"func(y *float32, codes, scales, biases *byte, x *int16, xscales, sums *float32, groups, blocks, "+
			"tail, outputs int, scratch *float32)",
		"avx2GemvInt16 multiplies one packed row with outputs of 4-bit codes; arguments as in avx2Gemv4.")
	y, codes, scales, biases := ptr("y"), ptr("codes"), ptr("scales"), ptr("biases")
	groups := ptr("groups")
	mask := wordMask()
	times("output", ptr("outputs"), func() {
		total := zero()
		prepareScalesInt16(total, scales, biases, groups)
		at, scale, count := ptr("x"), ptr("scratch"), GP64()
		MOVQ(groups, count)
		Label("group")
		PREFETCHT0(Mem{Base: codes, Disp: 4096}) // memory's own prefetchers reach 0.7 of its rate, this 0.95
		v := YMM()
		VMOVDQU(Mem{Base: codes}, v)
		var parts [4]reg.VecVirtual
		for p := range parts {
			parts[p] = nibbles(v, p, mask)
			VPMADDWD(Mem{Base: at, Disp: lane * p}, parts[p], parts[p])
		}
		VPADDD(parts[1], parts[0], parts[0])
		VPADDD(parts[3], parts[2], parts[2])
		VPADDD(parts[2], parts[0], parts[0])
		VCVTDQ2PS(parts[0], parts[0])
		s := YMM()
		VBROADCASTSS(Mem{Base: scale}, s)
		VFMADD231PS(parts[0], s, total)
		advance(codes, 32)
		advance(at, 128)
		advance(scale, 4)
		DECQ(count)
		JNZ(LabelRef("group"))
		VMOVSS(sum8(total), Mem{Base: y})
		advance(y, 4)
		LEAQ(Mem{Base: scales, Index: groups, Scale: 2}, scales)
		LEAQ(Mem{Base: biases, Index: groups, Scale: 2}, biases)
	})
	VZEROUPPER()
	RET()
}

// prepareScalesInt16 is prepareScales with the activations' scales multiplied in.
func prepareScalesInt16(total reg.VecVirtual, scales, biases, groups reg.Register) {
	at, to, xs, n, sums := GP64(), ptr("scratch"), ptr("xscales"), ptr("blocks"), ptr("sums")
	XORQ(at, at)
	bias := func(from reg.Register, turn bool) {
		b := widenBF16(Mem{Base: biases, Index: from, Scale: 2})
		if turn {
			leftoverLanes(b, groups)
		}
		VFMADD231PS(Mem{Base: sums, Index: at, Scale: 4}, b, total)
		s := widenBF16(Mem{Base: scales, Index: from, Scale: 2})
		VMULPS(Mem{Base: xs, Index: from, Scale: 4}, s, s)
		VMOVUPS(s, Mem{Base: to, Index: from, Scale: 4})
	}
	times("block", n, func() {
		bias(at, false)
		advance(at, 8)
	})
	tail := ptr("tail")
	TESTQ(tail, tail)
	JS(LabelRef("prepared"))
	bias(tail, true)
	Label("prepared")
}

// unpackInt16: groups of a few outputs as words in parts.
func unpackInt16() {
	kernel("avx2UnpackInt16",
		"func(dst *int16, codes *byte, stride, groups, outputs int)",
		"avx2UnpackInt16 widens groups of 4-bit codes of outputs, stride bytes apart, to dst, [outputs, "+
			"panelGroups*64].")
	dst, codes, stride := ptr("dst"), ptr("codes"), ptr("stride")
	mask := wordMask()
	times("output", ptr("outputs"), func() {
		to, from, count := GP64(), GP64(), ptr("groups")
		MOVQ(dst, to)
		MOVQ(codes, from)
		times("group", count, func() {
			v := YMM()
			VMOVDQU(Mem{Base: from}, v)
			for p := range 4 {
				VMOVDQU(nibbles(v, p, mask), Mem{Base: to, Disp: lane * p})
			}
			advance(from, 32)
			advance(to, 128)
		})
		ADDQ(stride, codes)
		advance(dst, panelBytes/2)
	})
	VZEROUPPER()
	RET()
}

// tileInt16: a panel of four outputs against tiles of n rows, in avx2GemvInt16's order of operations per element.
func tileInt16(n int) {
	kernel(fmt.Sprintf("avx2TileInt16x%d", n),
		"func(t *float32, w *int16, scales *float32, scaleStride int, x *int16, xscales *float32, ldx, "+
			"groups, count int, scratch *float32)",
		fmt.Sprintf("avx2TileInt16x%d adds groups, at most 8, of a panel w, [4, panelGroups*64], scaled, "+
			"to the sums t, [count*%d, 4, 8].", n, n)+" "+
			"Strides are in bytes, ldx for x and xscales alike. 8 scales can be read whatever groups is. "+
			"scratch is"+" "+
			fmt.Sprintf("[4, %d, 8].", n))
	t, x, xs, ldx := ptr("t"), ptr("x"), ptr("xscales"), ptr("ldx")
	scratch := ptr("scratch")
	times("tile", ptr("count"), func() {
		products := func() {
			from, stride, row := ptr("scales"), ptr("scaleStride"), GP64()
			for m := range 4 {
				s := YMM()
				VMOVUPS(Mem{Base: from}, s)
				ADDQ(stride, from)
				MOVQ(xs, row)
				for i := range n {
					p := YMM()
					VMULPS(Mem{Base: row}, s, p)
					VMOVUPS(p, Mem{Base: scratch, Disp: lane * (n*m + i)})
					if i+1 < n {
						ADDQ(ldx, row)
					}
				}
			}
		}
		products()
		weights, scale, groups := ptr("w"), GP64(), ptr("groups")
		rows := make([]reg.Register, n)
		for i := range rows {
			rows[i] = GP64()
			if i == 0 {
				MOVQ(x, rows[0])
			} else {
				MOVQ(rows[i-1], rows[i])
				ADDQ(ldx, rows[i])
			}
		}
		MOVQ(scratch, scale)
		Label("group")
		acc := make([][4]reg.VecVirtual, n)
		for p := range 4 {
			var v []reg.VecVirtual
			for i := range acc {
				y := YMM()
				VMOVDQU(Mem{Base: rows[i], Disp: lane * p}, y)
				v = append(v, y)
			}
			for m := range 4 {
				w := YMM()
				VMOVDQU(Mem{Base: weights, Disp: panelBytes/2*m + lane*p}, w)
				for i := range acc {
					if p == 0 {
						acc[i][m] = YMM()
						VPMADDWD(v[i], w, acc[i][m])
						continue
					}
					d := YMM()
					VPMADDWD(v[i], w, d)
					VPADDD(d, acc[i][m], acc[i][m])
				}
			}
		}
		for i := range acc {
			for m := range 4 {
				sum := Mem{Base: t, Disp: lane * (4*i + m)}
				s := YMM()
				VBROADCASTSS(Mem{Base: scale, Disp: lane * (n*m + i)}, s)
				VCVTDQ2PS(acc[i][m], acc[i][m])
				VFMADD213PS(sum, s, acc[i][m])
				VMOVUPS(acc[i][m], sum)
			}
		}
		advance(weights, 128)
		for _, r := range rows {
			advance(r, 128)
		}
		advance(scale, 4)
		DECQ(groups)
		JNZ(LabelRef("group"))
		advance(t, n*4*lane)
		for range n {
			ADDQ(ldx, x)
			ADDQ(ldx, xs)
		}
	})
	VZEROUPPER()
	RET()
}
