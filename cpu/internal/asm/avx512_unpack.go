package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// loadRows reads 64 bytes of each of 16 rows.
func loadRows(base, rows, mask reg.Register) (r [16]reg.VecVirtual) {
	for i := range r {
		r[i] = ZMM()
		VMOVDQU32_Z(row(base, rows, i), mask, r[i])
	}
	return r
}

// columns: bfloat16 of 16 rows, transposed.
func columns() {
	kernel("avx512Columns",
		"func(dst *float32, src *byte, rows *[16]int, n int)",
		"avx512Columns widens n bfloat16 of 16 rows, offsets from src in bytes, to dst, [n, 32], of which it writes the "+
			"first 16. Zeros follow up to a multiple of 32 columns.")
	dst, src, rows, n := ptr("dst"), ptr("src"), ptr("rows"), ptr("n")
	high := broadcast32(0xffff0000)
	Label("columns")
	mask := maskOf(n, 32)
	var r [16]reg.VecVirtual
	for i := range r {
		r[i] = ZMM()
		VMOVDQU16_Z(row(src, rows, i), mask, r[i])
	}
	for i, pair := range transposed16(r) {
		first := ZMM()
		VPSLLD(Imm(16), pair, first)
		VMOVUPS(first, Mem{Base: dst, Disp: panelStep * 2 * i})
		VPANDD(high, pair, pair)
		VMOVUPS(pair, Mem{Base: dst, Disp: panelStep * (2*i + 1)})
	}
	advance(src, 64)
	advance(dst, 32*panelStep)
	SUBQ(Imm(32), n)
	JG(LabelRef("columns"))
	VZEROUPPER()
	RET()
}

// broadcast32 is a constant in every lane.
func broadcast32(v uint32) reg.VecVirtual {
	g, z := GP32(), ZMM()
	MOVL(U32(v), g)
	VPBROADCASTD(g, z)
	return z
}

// unpackFloat: codes of 16 rows as float32, transposed.
func unpackFloat(bits int) {
	kernel(fmt.Sprintf("avx512Unpack%d", bits),
		"func(dst *float32, codes *byte, rows *[16]int, groups int)",
		fmt.Sprintf("avx512Unpack%d widens groups of %d-bit codes of 16 rows, offsets from codes in bytes, to dst, "+
			"[groups*64, 32], of which it writes the first 16.", bits, bits)+
			map[int]string{4: " Zeros follow an odd number of groups.", 8: ""}[bits])
	dst, codes, rows, groups := ptr("dst"), ptr("codes"), ptr("rows"), ptr("groups")
	parts, at := 32/bits, 16/bits // parts of a dword, groups at a time
	if bits == 8 {
		at = 1
	}
	if bits == 4 {
		at = 2
	}
	var numbers []Constant
	for i := range 16 {
		numbers = append(numbers, F32(float32(i)))
	}
	look, low := ZMM(), reg.VecVirtual(nil)
	if bits == 4 {
		VMOVUPS(table("numbers", 4, numbers...), look)
	} else {
		low = broadcast32(0xff)
	}
	left := GP64()
	MOVQ(groups, left)
	SHLQ(Imm(uint64(map[int]int{4: 3, 8: 4}[bits])), left) // dwords
	Label("groups")
	mask := maskOf(left, 16)
	for i, v := range transposed16(loadRows(codes, rows, mask)) {
		for k := range parts {
			c := ZMM()
			switch {
			case k > 0:
				VPSRLD(Imm(uint64(bits*k)), v, c)
			default:
				c = v
			}
			f := ZMM()
			if bits == 4 { // the index is the low nibble
				VPERMPS(look, c, f)
			} else {
				VPANDD(low, c, f)
				VCVTDQ2PS(f, f)
			}
			VMOVUPS(f, Mem{Base: dst, Disp: panelStep * (parts*i + k)})
		}
	}
	advance(codes, 64)
	advance(dst, panelStep*64*at)
	SUBQ(Imm(16), left)
	JG(LabelRef("groups"))
	VZEROUPPER()
	RET()
}

// unpackPairs: codes of 16 rows as words, transposed in pairs as the dot products take them.
func unpackPairs() {
	kernel("avx512UnpackInt16",
		"func(dst *int16, codes *byte, rows *[16]int, groups int)",
		"avx512UnpackInt16 widens groups of 4-bit codes of 16 rows, offsets from codes in bytes, to dst, "+
			"[groups*32, 32] pairs, of which it writes the first 16. Pair 4d+p of a group is elements 8d+p and 8d+p+4. "+
			"Zeros follow an odd number of groups.")
	dst, codes, rows, groups := ptr("dst"), ptr("codes"), ptr("rows"), ptr("groups")
	low := broadcast32(0x000f000f)
	left := GP64()
	MOVQ(groups, left)
	SHLQ(Imm(3), left) // dwords
	Label("groups")
	mask := maskOf(left, 16)
	for i, v := range transposed16(loadRows(codes, rows, mask)) {
		for p := range 4 {
			VMOVDQU32(wordPart(v, p, low), Mem{Base: dst, Disp: panelStep * (4*i + p)})
		}
	}
	advance(codes, 64)
	advance(dst, panelStep*64)
	SUBQ(Imm(16), left)
	JG(LabelRef("groups"))
	VZEROUPPER()
	RET()
}

// wordPart is nibble p of every word of v.
func wordPart(v reg.VecVirtual, p int, low reg.VecVirtual) reg.VecVirtual {
	z := ZMM()
	switch p {
	case 0:
		VPANDD(low, v, z)
	case 3:
		VPSRLW(Imm(12), v, z)
	default:
		VPSRLW(Imm(uint64(4*p)), v, z)
		VPANDD(low, z, z)
	}
	return z
}
