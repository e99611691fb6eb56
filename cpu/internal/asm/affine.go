package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A 4-bit group of 64 codes is 32 bytes: eight dwords of eight nibbles. Nibble k of all dwords, masked where it stands,
// is eight integers code*16^k, exact as float32; the packed activations hold x*16^-k in the same order. Only the top
// nibble is shifted down, as the sign bit would be in its way. An 8-bit group is two such registers of four bytes each.

// step is how many masked parts a register of codes has.
func step(bits int) int { return 32 / bits }

// masks makes one register per part but the last.
func masks(bits int) []reg.VecVirtual {
	m := make([]reg.VecVirtual, step(bits)-1)
	g := GP32()
	MOVL(U32(1<<bits-1), g)
	x := XMM()
	MOVD(g, x)
	for k := range m {
		m[k] = YMM()
		if k == 0 {
			VPBROADCASTD(x, m[0])
		} else {
			VPSLLD(Imm(uint64(bits*k)), m[0], m[k])
		}
	}
	return m
}

// part makes part k of the codes v as eight float32.
func part(v reg.VecVirtual, k, bits int, m []reg.VecVirtual) reg.VecVirtual {
	c := YMM()
	if k < len(m) {
		VPAND(m[k], v, c)
	} else {
		VPSRLD(Imm(uint64(32-bits)), v, c)
	}
	VCVTDQ2PS(c, c)
	return c
}

// gemv: one packed row against outputs, two at a time and a last one alone. Per output: lanes of biases times group
// sums, then group after group total += scale * (lanes of codes times activations), then the lanes' sum.
func gemv(bits int) {
	kernel(fmt.Sprintf("avx2Gemv%d", bits),
		"func(y *float32, codes, scales, biases *byte, x *float32, groups, blocks, tail, outputs int, "+
			"scratch *float32)",
		fmt.Sprintf("avx2Gemv%d multiplies one packed row with outputs of %d-bit codes. blocks is the "+
			"number of whole blocks of", bits, bits)+" "+
			"8 groups; tail is the first of the last 8 groups when some are left over, else negative. "+
			"scratch holds the scales "+
			"of two outputs, as float32, each a whole number of blocks and one more.")
	y, codes, scales, biases, x := ptr("y"), ptr("codes"), ptr("scales"), ptr("biases"), ptr("x")
	groups := ptr("groups")
	m := masks(bits)
	pairs := ptr("outputs")
	SHRQ(Imm(1), pairs)
	outputs := func(label string, n int, count reg.Register) {
		times(label, count, func() {
			gemvOutputs(label, n, bits, m, y, codes, scales, biases, x, groups)
		})
	}
	outputs("pair", 2, pairs)
	last := ptr("outputs")
	ANDQ(Imm(1), last)
	outputs("last", 1, last)
	VZEROUPPER()
	RET()
}

// gemvOutputs does n outputs and moves y, codes, scales and biases on.
func gemvOutputs(label string, n, bits int, m []reg.VecVirtual, y, codes, scales, biases, x, groups reg.Register) {
	at, scale, stride := GP64(), GP64(), GP64()
	Load(Param("scratch"), scale)
	scaleStride := func() {
		Load(Param("blocks"), stride)
		SHLQ(Imm(5), stride)
		advance(stride, lane)
	}
	total := make([]reg.VecVirtual, n)
	for i := range total {
		total[i] = zero()
		prepareScales(fmt.Sprintf("%s_%d", label, i), total[i], scales, biases, x, groups, scale)
		if i+1 < n {
			scaleStride()
			ADDQ(stride, scale)
		}
		LEAQ(Mem{Base: scales, Index: groups, Scale: 2}, scales)
		LEAQ(Mem{Base: biases, Index: groups, Scale: 2}, biases)
	}
	// Codes of the second output follow those of the first.
	second, count := GP64(), GP64()
	MOVQ(groups, second)
	IMUL3Q(U32(8*bits), second, second)
	ADDQ(codes, second)
	rows := []reg.Register{codes, second}[:n]
	Load(Param("scratch"), scale)
	scaleStride()
	MOVQ(x, at)
	MOVQ(groups, count)
	Label(label + "_group")
	acc := groupDots(rows, at, bits, m)
	for i := range total {
		s := YMM()
		if i == 0 {
			VBROADCASTSS(Mem{Base: scale}, s)
		} else {
			VBROADCASTSS(Mem{Base: scale, Index: stride, Scale: 1}, s)
		}
		VFMADD231PS(acc[i], s, total[i])
	}
	for _, r := range rows {
		advance(r, 8*bits)
	}
	advance(at, 256)
	advance(scale, 4)
	DECQ(count)
	JNZ(LabelRef(label + "_group"))
	for i := range total {
		VMOVSS(sum8(total[i]), Mem{Base: y, Disp: 4 * i})
	}
	MOVQ(rows[n-1], codes)
	advance(y, 4*n)
}

// leftoverLanes turns the last 8 values of a row of groups so that those beyond whole blocks come first. What follows
// them meets sums that are zero.
func leftoverLanes(last reg.VecVirtual, groups reg.Register) {
	var turns []Constant
	for i := range 16 {
		turns = append(turns, U32(uint32(i%8)))
	}
	address, over := GP64(), GP64()
	LEAQ(table("leftover", 4, turns...), address)
	MOVQ(groups, over)
	NEGQ(over)
	ANDQ(Imm(7), over)
	turn := YMM()
	VMOVDQU(Mem{Base: address, Index: over, Scale: 4}, turn)
	VPERMPS(last, turn, last)
}

// prepareScales adds biases times sums to total and writes the scales as float32 to scratch.
func prepareScales(label string, total reg.VecVirtual, scales, biases, x, groups, scratch reg.Register) {
	sums, s, b, at, to, count := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(groups, sums)
	SHLQ(Imm(8), sums)
	ADDQ(x, sums)
	MOVQ(scales, s)
	MOVQ(biases, b)
	MOVQ(sums, at)
	MOVQ(scratch, to)
	Load(Param("blocks"), count)
	times(label+"_block", count, func() {
		VFMADD231PS(Mem{Base: at}, widenBF16(Mem{Base: b}), total)
		VMOVUPS(widenBF16(Mem{Base: s}), Mem{Base: to})
		advance(s, 16)
		advance(b, 16)
		advance(at, lane)
		advance(to, lane)
	})
	tail := ptr("tail")
	TESTQ(tail, tail)
	JS(LabelRef(label + "_prepared"))
	last := widenBF16(Mem{Base: biases, Index: tail, Scale: 2})
	leftoverLanes(last, groups)
	VFMADD231PS(Mem{Base: at}, last, total) // at is behind the whole blocks
	VMOVUPS(widenBF16(Mem{Base: scales, Index: tail, Scale: 2}), Mem{Base: scratch, Index: tail, Scale: 4})
	Label(label + "_prepared")
}

// groupDots is, per output, the lanes of one group's codes times activations.
func groupDots(codes []reg.Register, x reg.Register, bits int, m []reg.VecVirtual) []reg.VecVirtual {
	acc := make([]reg.VecVirtual, len(codes))
	v := make([]reg.VecVirtual, len(codes))
	for i := range codes {
		acc[i], v[i] = YMM(), YMM()
	}
	for r := range bits / 4 {
		for i := range codes {
			VMOVDQU(Mem{Base: codes[i], Disp: lane * r}, v[i])
		}
		for k := range step(bits) {
			at := YMM()
			VMOVUPS(Mem{Base: x, Disp: lane * (r*step(bits) + k)}, at)
			for i := range codes {
				if c := part(v[i], k, bits, m); r+k == 0 {
					VMULPS(at, c, acc[i])
				} else {
					VFMADD231PS(at, c, acc[i])
				}
			}
		}
	}
	return acc
}

// unpack: groups of a few outputs as float32, in the order and scale that the packed activations match.
func unpack(bits int) {
	kernel(fmt.Sprintf("simdUnpack%d", bits),
		"func(dst *float32, codes *byte, stride, groups, outputs int)",
		fmt.Sprintf("simdUnpack%d widens groups of %d-bit codes of outputs, stride bytes apart, to dst, "+
			"[outputs, panelGroups*64].", bits, bits))
	dst, codes, stride := ptr("dst"), ptr("codes"), ptr("stride")
	m := masks(bits)
	times("output", ptr("outputs"), func() {
		to, from, count := GP64(), GP64(), GP64()
		MOVQ(dst, to)
		MOVQ(codes, from)
		Load(Param("groups"), count)
		times("group", count, func() {
			for r := range bits / 4 {
				v := YMM()
				VMOVDQU(Mem{Base: from, Disp: lane * r}, v)
				for k := range step(bits) {
					VMOVUPS(part(v, k, bits, m), Mem{Base: to, Disp: lane * (r*step(bits) + k)})
				}
			}
			advance(from, 8*bits)
			advance(to, 256)
		})
		ADDQ(stride, codes)
		advance(dst, panelBytes)
	})
	VZEROUPPER()
	RET()
}

// panelBytes is one row of a panel of unpacked weights: 8 groups of 64, or 512 bf16 weights.
const panelBytes = 8 * 64 * 4

// tileRows advances through count tiles of n rows of x and their sums t.
func tileRows(n int, t, x, ldx, count reg.Register, body func(rows []reg.Register)) {
	rows := make([]reg.Register, n)
	for i := range rows {
		rows[i] = GP64()
	}
	times("tile", count, func() {
		MOVQ(x, rows[0])
		for i := 1; i < n; i++ {
			MOVQ(rows[i-1], rows[i])
			ADDQ(ldx, rows[i])
		}
		body(rows)
		advance(t, n*4*lane)
		for range n {
			ADDQ(ldx, x)
		}
	})
}

// tileStep multiplies eight weights of each of four outputs with eight activations of each row, disp bytes on.
func tileStep(acc [][4]reg.VecVirtual, w [4]Mem, rows []reg.Register, disp int, first bool) {
	var x []reg.VecVirtual
	for i := range acc {
		v := YMM()
		VMOVUPS(Mem{Base: rows[i], Disp: disp}, v)
		x = append(x, v)
	}
	for m := range 4 {
		v := YMM()
		VMOVUPS(w[m].Offset(disp), v)
		for i := range acc {
			if first {
				VMULPS(x[i], v, acc[i][m])
			} else {
				VFMADD231PS(x[i], v, acc[i][m])
			}
		}
	}
}

func accumulators(n int) [][4]reg.VecVirtual {
	acc := make([][4]reg.VecVirtual, n)
	for i := range acc {
		for m := range 4 {
			acc[i][m] = YMM()
		}
	}
	return acc
}

// affineTile: a panel of four outputs against tiles of n rows, in avx2Gemv's order of operations per element.
func affineTile(n int) {
	kernel(fmt.Sprintf("simdAffineTile%d", n),
		"func(t, w, scales *float32, scaleStride int, x *float32, ldx, groups, count int)",
		fmt.Sprintf("simdAffineTile%d adds groups of a panel w, [4, panelGroups*64], scaled, to the sums "+
			"t, [count*%d, 4, 8].", n, n)+" "+
			"Strides are in bytes.")
	t, w, scales, scaleStride, x, ldx := ptr("t"), ptr("w"), ptr("scales"), ptr("scaleStride"), ptr("x"), ptr("ldx")
	count := ptr("count")
	tileRows(n, t, x, ldx, count, func(rows []reg.Register) {
		weights, scale, groups := GP64(), GP64(), GP64()
		MOVQ(w, weights)
		MOVQ(scales, scale)
		Load(Param("groups"), groups)
		Label("group")
		acc := accumulators(n)
		for k := range 8 {
			panel := [4]Mem{}
			for m := range panel {
				panel[m] = Mem{Base: weights, Disp: panelBytes * m}
			}
			tileStep(acc, panel, rows, lane*k, k == 0)
		}
		at := GP64()
		MOVQ(scale, at)
		for m := range 4 {
			s := YMM()
			VBROADCASTSS(Mem{Base: at}, s)
			ADDQ(scaleStride, at)
			for i := range acc {
				sum := Mem{Base: t, Disp: lane * (4*i + m)}
				VFMADD213PS(sum, s, acc[i][m])
				VMOVUPS(acc[i][m], sum)
			}
		}
		advance(weights, 256)
		for _, r := range rows {
			advance(r, 256)
		}
		advance(scale, 4)
		DECQ(groups)
		JNZ(LabelRef("group"))
	})
	VZEROUPPER()
	RET()
}

// finish: the lanes' sums of four outputs for count rows.
func finish() {
	kernel("simdFinish",
		"func(y *float32, ldy int, t *float32, count int)",
		"simdFinish writes the four outputs of each row of sums t, [count, 4, 8]; ldy is in bytes.")
	y, ldy, t, count := ptr("y"), ptr("ldy"), ptr("t"), ptr("count")
	times("row", count, func() {
		var s [4]reg.VecVirtual
		for m := range s {
			s[m] = YMM()
			VMOVUPS(Mem{Base: t, Disp: lane * m}, s[m])
		}
		VMOVUPS(sum8x4(s), Mem{Base: y})
		advance(t, 4*lane)
		ADDQ(ldy, y)
	})
	VZEROUPPER()
	RET()
}
