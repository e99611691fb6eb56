package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowPointers reaches n rows, ld bytes apart: one pointer for three.
type rowPointers struct {
	n        int
	pointers []reg.Register
	ld       reg.Register
}

func newRowPointers(x, ld reg.Register, n int) rowPointers {
	r := rowPointers{n: n, ld: ld, pointers: []reg.Register{x}}
	for len(r.pointers) < (n+2)/3 {
		p := GP64()
		LEAQ(Mem{Base: r.pointers[len(r.pointers)-1], Index: ld, Scale: 2}, p)
		ADDQ(ld, p)
		r.pointers = append(r.pointers, p)
	}
	return r
}

func (r rowPointers) at(i, disp int) Mem {
	m := Mem{Base: r.pointers[i/3], Disp: disp}
	if i%3 > 0 {
		m.Index, m.Scale = r.ld, uint8(i%3)
	}
	return m
}

func (r rowPointers) advance(bytes int) {
	for _, p := range r.pointers {
		advance(p, bytes)
	}
}

// wideAccumulators are cleared: [chains][rows][2].
func wideAccumulators(chains, rows int) [][][2]reg.VecVirtual {
	acc := make([][][2]reg.VecVirtual, chains)
	for c := range acc {
		acc[c] = make([][2]reg.VecVirtual, rows)
		for i := range acc[c] {
			for m := range 2 {
				z := ZMM()
				VPXORD(z, z, z)
				acc[c][i][m] = z
			}
		}
	}
	return acc
}

func panelPair(base reg.Register, disp int) (w [2]reg.VecVirtual) {
	for m := range w {
		w[m] = ZMM()
		VMOVUPS(Mem{Base: base, Disp: disp + 64*m}, w[m])
	}
	return w
}

// floatTile: n rows against the 32 outputs of a panel, even and odd inputs in sums of their own. A group's sum is scaled
// as it joins the total (affine); a strip's joins as it is (dense).
func floatTile(n int, affine bool) {
	if affine {
		kernel(fmt.Sprintf("avx512Tile%d", n),
			"func(t, w, scales, biases, x, sums *float32, ldx, groups int)",
			fmt.Sprintf("avx512Tile%d adds groups of a panel w, [groups*64, 32], with scales and biases [groups, 32], "+
				"to the totals t, [%d, 32]. ldx is in bytes, for x and its sums alike.", n, n))
	} else {
		kernel(fmt.Sprintf("avx512DenseTile%d", n),
			"func(t, w, x *float32, ldx, steps int)",
			fmt.Sprintf("avx512DenseTile%d adds steps of 4 inputs of a panel w, [4*steps, 32], to the totals t, "+
				"[%d, 32]. ldx is in bytes.", n, n))
	}
	t, w, ldx := ptr("t"), ptr("w"), ptr("ldx")
	x := newRowPointers(ptr("x"), ldx, n)
	product := func(steps reg.Register) [][2]reg.VecVirtual {
		acc := wideAccumulators(2, n)
		Label("step")
		for e := range 4 {
			weights := panelPair(w, panelStep*e)
			for i := range n {
				v := ZMM()
				VBROADCASTSS(x.at(i, 4*e), v)
				for m := range 2 {
					VFMADD231PS(weights[m], v, acc[e%2][i][m])
				}
			}
		}
		advance(w, 4*panelStep)
		x.advance(16)
		DECQ(steps)
		JNZ(LabelRef("step"))
		for i := range n {
			for m := range 2 {
				VADDPS(acc[1][i][m], acc[0][i][m], acc[0][i][m])
			}
		}
		return acc[0]
	}
	if !affine {
		steps := ptr("steps")
		for i, sums := range product(steps) {
			for m := range 2 {
				at := Mem{Base: t, Disp: 64 * (2*i + m)}
				VADDPS(at, sums[m], sums[m])
				VMOVUPS(sums[m], at)
			}
		}
		VZEROUPPER()
		RET()
		return
	}
	scales, biases, sums, groups := ptr("scales"), ptr("biases"), ptr("sums"), ptr("groups")
	Label("group")
	steps := GP64()
	MOVQ(U32(16), steps)
	acc := product(steps)
	s, b, at := panelPair(scales, 0), panelPair(biases, 0), GP64()
	MOVQ(sums, at)
	for i := range n {
		sum := ZMM()
		VBROADCASTSS(Mem{Base: at}, sum)
		if i+1 < n {
			ADDQ(ldx, at)
		}
		for m := range 2 {
			total, to := ZMM(), Mem{Base: t, Disp: 64 * (2*i + m)}
			VMOVUPS(to, total)
			VFMADD231PS(acc[i][m], s[m], total)
			VFMADD231PS(b[m], sum, total)
			VMOVUPS(total, to)
		}
	}
	advance(scales, panelStep)
	advance(biases, panelStep)
	advance(sums, 4)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// dot adds the products of pairs of words. The sums are exact either way.
func dot(vnni bool, a, b, sum reg.VecVirtual) {
	if vnni {
		VPDPWSSD(a, b, sum)
		return
	}
	p := ZMM()
	VPMADDWD(a, b, p)
	VPADDD(p, sum, sum)
}

func dotSuffix(vnni bool) string {
	if vnni {
		return "VNNI"
	}
	return ""
}

// pairsTile is floatTile on integers of 16 bits. The sum of a group's products is exact, in whatever order; as float32
// it is rounded once. Few rows have two sums each, or the latency of a product would show.
func pairsTile(n int, vnni bool) {
	kernel(fmt.Sprintf("avx512TileInt16%sx%d", dotSuffix(vnni), n),
		"func(t *float32, w *int16, scales, biases *float32, x *int16, xscales, sums *float32, ldx, groups int)",
		fmt.Sprintf("avx512TileInt16%sx%d adds groups of a panel w, [groups*32, 32] pairs, with scales and biases "+
			"[groups, 32], to the totals t, [%d, 32]. ldx is in bytes, for x, its scales and its sums alike.",
			dotSuffix(vnni), n, n))
	t, w, ldx := ptr("t"), ptr("w"), ptr("ldx")
	x := newRowPointers(ptr("x"), ldx, n)
	scales, biases, xscales, sums := ptr("scales"), ptr("biases"), ptr("xscales"), ptr("sums")
	groups := ptr("groups")
	chains := 1
	if n <= 4 {
		chains = 2
	}
	Label("group")
	acc := wideAccumulators(chains, n)
	steps := GP64()
	MOVQ(U32(8), steps)
	Label("step")
	for p := range 4 {
		weights := panelPair(w, panelStep*p)
		for i := range n {
			v := ZMM()
			VPBROADCASTD(x.at(i, 32*p), v)
			for m := range 2 {
				dot(vnni, v, weights[m], acc[p%chains][i][m])
			}
		}
	}
	advance(w, 4*panelStep)
	x.advance(4)
	DECQ(steps)
	JNZ(LabelRef("step"))
	x.advance(128 - 32)
	s, b := panelPair(scales, 0), panelPair(biases, 0)
	scaleAt, sumAt := GP64(), GP64()
	MOVQ(xscales, scaleAt)
	MOVQ(sums, sumAt)
	for i := range n {
		scale, sum := ZMM(), ZMM()
		VBROADCASTSS(Mem{Base: scaleAt}, scale)
		VBROADCASTSS(Mem{Base: sumAt}, sum)
		if i+1 < n {
			ADDQ(ldx, scaleAt)
			ADDQ(ldx, sumAt)
		}
		for m := range 2 {
			a := acc[0][i][m]
			if chains == 2 {
				VPADDD(acc[1][i][m], a, a)
			}
			total, to := ZMM(), Mem{Base: t, Disp: 64 * (2*i + m)}
			VMOVUPS(to, total)
			joinInt16(a, s[m], b[m], scale, sum, total)
			VMOVUPS(total, to)
		}
	}
	advance(scales, panelStep)
	advance(biases, panelStep)
	advance(xscales, 4)
	advance(sums, 4)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// joinInt16 adds a group to its outputs' totals: the integers acc, the group's scales and biases, the activations' scale
// and sum. One order for tiles and single rows.
func joinInt16(acc, scales, biases, scale, sum, total reg.VecVirtual) {
	VCVTDQ2PS(acc, acc)
	VMULPS(scales, acc, acc)
	VFMADD231PS(acc, scale, total)
	VFMADD231PS(biases, sum, total)
}

// pairsRow: one row against 16 outputs whose codes are read where they lie, two groups at a time: the first eight lanes
// of a register sum the first group, the last eight the second. The outputs' sums are then gathered in one register for
// each group.
func pairsRow(vnni bool) {
	kernel("avx512RowInt16"+dotSuffix(vnni),
		"func(t *float32, codes *byte, rows *[16]int, ahead int, scales, biases *float32, x *int16, "+
			"xscales, sums *float32, groups int)",
		"avx512RowInt16"+dotSuffix(vnni)+" adds groups of one row times 4-bit codes of 16 outputs, offsets rows from "+
			"codes in bytes, with scales and biases [groups, 32], to the totals t, [16]. What lies ahead bytes after "+
			"the codes is fetched for the next call. After an odd number of groups one more is read of x, its scales "+
			"and sums, and of scales and biases, which has to be finite.")
	codes, rows, scales, biases := ptr("codes"), ptr("rows"), ptr("scales"), ptr("biases")
	x, xscales, sums, left, ahead := ptr("x"), ptr("xscales"), ptr("sums"), ptr("groups"), ptr("ahead")
	ADDQ(codes, ahead)
	low := broadcast32(0x000f000f)
	t, total := ptr("t"), ZMM()
	VMOVUPS(Mem{Base: t}, total)
	SHLQ(Imm(3), left) // dwords
	Label("groups")
	mask := maskOf(left, 16)
	var v [4]reg.VecVirtual
	for p := range v {
		y := YMM()
		VMOVDQU(Mem{Base: x, Disp: 32 * p}, y)
		v[p] = ZMM()
		VINSERTI64X4(Imm(1), Mem{Base: x, Disp: 128 + 32*p}, y.AsZ(), v[p])
	}
	acc := make([]reg.VecVirtual, 16)
	for i := range acc {
		offset, c := GP64(), ZMM()
		MOVQ(Mem{Base: rows, Disp: 8 * i}, offset)
		VMOVDQU32_Z(Mem{Base: codes, Index: offset, Scale: 1}, mask, c)
		PREFETCHT1(Mem{Base: ahead, Index: offset, Scale: 1})
		acc[i] = ZMM()
		if vnni {
			VPXORD(acc[i], acc[i], acc[i])
		}
		for p := range v {
			part := wordPart(c, p, low)
			switch {
			case vnni:
				VPDPWSSD(v[p], part, acc[i])
			case p == 0:
				VPMADDWD(v[p], part, acc[i])
			default:
				dot(false, v[p], part, acc[i])
			}
		}
	}
	first, second := quarterSums(acc, VPADDD)
	for i, a := range []reg.VecVirtual{first, second} {
		s, b, scale, sum := ZMM(), ZMM(), ZMM(), ZMM()
		VMOVUPS(Mem{Base: scales, Disp: panelStep * i}, s)
		VMOVUPS(Mem{Base: biases, Disp: panelStep * i}, b)
		VBROADCASTSS(Mem{Base: xscales, Disp: 4 * i}, scale)
		VBROADCASTSS(Mem{Base: sums, Disp: 4 * i}, sum)
		joinInt16(a, s, b, scale, sum, total)
	}
	advance(codes, 64)
	advance(ahead, 64)
	advance(x, 256)
	advance(xscales, 8)
	advance(sums, 8)
	advance(scales, 2*panelStep)
	advance(biases, 2*panelStep)
	SUBQ(Imm(16), left)
	JG(LabelRef("groups"))
	VMOVUPS(total, Mem{Base: t})
	VZEROUPPER()
	RET()
}
