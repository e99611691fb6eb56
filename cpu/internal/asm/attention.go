package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func suffix(half bool) string {
	if half {
		return "Half"
	}
	return "Float"
}

// stored reads eight cached elements.
func stored(m Mem, half bool) reg.VecVirtual {
	y := YMM()
	if half {
		VCVTPH2PS(m, y)
	} else {
		VMOVUPS(m, y)
	}
	return y
}

// storedBytes is eight cached elements in memory.
func storedBytes(half bool) int {
	if half {
		return 16
	}
	return 32
}

// scores: nq queries against keys, four at a time and the rest one by one; per element eight lanes along the head.
func scores(nq int, half bool) {
	kernel(fmt.Sprintf("simdScores%d%s", nq, suffix(half)), "func(p *float32, ldp int, q *float32, dh int, kv *byte, stride, n int)",
		fmt.Sprintf("simdScores%d%s writes the scores of %d queries, [%d, dh], with n keys to p; ldp and stride are in bytes.",
			nq, suffix(half), nq, nq))
	p, q, kv, stride := ptr("p"), ptr("q"), ptr("kv"), ptr("stride")
	dh, ldp := ptr("dh"), ptr("ldp")
	tile := func(name string, keys int, count reg.Register) {
		times(name, count, func() {
			k := make([]reg.Register, keys)
			for i := range k {
				k[i] = GP64()
				MOVQ(kv, k[i])
				ADDQ(stride, kv)
			}
			acc := make([][4]reg.VecVirtual, nq)
			for h := range acc {
				for i := range 4 {
					if i < keys {
						acc[h][i] = zero()
					}
				}
			}
			at, second, steps := GP64(), GP64(), GP64()
			MOVQ(q, at)
			LEAQ(Mem{Base: q, Index: dh, Scale: 4}, second)
			MOVQ(dh, steps)
			SHRQ(Imm(3), steps)
			Label(name + "_step")
			queries := []reg.VecVirtual{YMM(), YMM()}[:nq]
			VMOVUPS(Mem{Base: at}, queries[0])
			if nq == 2 {
				VMOVUPS(Mem{Base: second}, queries[1])
			}
			for i := range k {
				v := stored(Mem{Base: k[i]}, half)
				for h := range queries {
					VFMADD231PS(v, queries[h], acc[h][i])
				}
				advance(k[i], storedBytes(half))
			}
			advance(at, lane)
			advance(second, lane)
			DECQ(steps)
			JNZ(LabelRef(name + "_step"))
			for h := range acc {
				to := Mem{Base: p}
				if h == 1 {
					to = Mem{Base: p, Index: ldp, Scale: 1}
				}
				if keys == 4 {
					VMOVUPS(sum8x4(acc[h]), to)
				} else {
					VMOVSS(sum8(acc[h][0]), to)
				}
			}
			advance(p, 4*keys)
		})
	}
	n := ptr("n")
	SHRQ(Imm(2), n)
	tile("four", 4, n)
	Load(Param("n"), n)
	ANDQ(Imm(3), n)
	tile("one", 1, n)
	VZEROUPPER()
	RET()
}

// values: o += p*v for nq outputs, chunks of d registers each along the head, up to eight keys at a time so that their
// rows are still in the first-level cache when the next chunk comes (rows a power of two apart share few of its sets).
func values(nq, d int, half bool) {
	kernel(fmt.Sprintf("simdValues%dx%d%s", nq, d, suffix(half)), "func(o *float32, ldo, chunks int, p *float32, ldp int, kv *byte, stride, n int)",
		fmt.Sprintf("simdValues%dx%d%s adds n values, weighted by p, to chunks of %d elements of %d outputs; ldo, ldp and stride are in bytes.",
			nq, d, suffix(half), 8*d, nq))
	p, kv, stride := ptr("p"), ptr("kv"), ptr("stride")
	ldp, ldo, left := ptr("ldp"), ptr("ldo"), ptr("n")
	Label("keys")
	TESTQ(left, left)
	JZ(LabelRef("done"))
	some := GP64()
	MOVQ(left, some)
	CMPQ(some, Imm(8))
	JLE(LabelRef("few"))
	MOVQ(U32(8), some)
	Label("few")
	o, column, chunks := ptr("o"), GP64(), GP64()
	MOVQ(kv, column)
	Load(Param("chunks"), chunks)
	times("chunk", chunks, func() {
		acc := make([][]reg.VecVirtual, nq)
		row := GP64()
		MOVQ(o, row)
		for h := range acc {
			for i := range d {
				y := YMM()
				VMOVUPS(Mem{Base: row, Disp: lane * i}, y)
				acc[h] = append(acc[h], y)
			}
			ADDQ(ldo, row)
		}
		v, w, count := GP64(), GP64(), GP64()
		MOVQ(column, v)
		MOVQ(p, w)
		MOVQ(some, count)
		Label("key")
		var x []reg.VecVirtual
		for i := range d {
			x = append(x, stored(Mem{Base: v, Disp: storedBytes(half) * i}, half))
		}
		weight := GP64()
		MOVQ(w, weight)
		for h := range acc {
			b := YMM()
			VBROADCASTSS(Mem{Base: weight}, b)
			if h+1 < nq {
				ADDQ(ldp, weight)
			}
			for i := range x {
				VFMADD231PS(x[i], b, acc[h][i])
			}
		}
		ADDQ(stride, v)
		advance(w, 4)
		DECQ(count)
		JNZ(LabelRef("key"))
		MOVQ(o, row)
		for h := range acc {
			for i := range d {
				VMOVUPS(acc[h][i], Mem{Base: row, Disp: lane * i})
			}
			ADDQ(ldo, row)
		}
		advance(o, lane*d)
		advance(column, storedBytes(half)*d)
	})
	LEAQ(Mem{Base: p, Index: some, Scale: 4}, p)
	SUBQ(some, left)
	IMULQ(stride, some)
	ADDQ(some, kv)
	JMP(LabelRef("keys"))
	Label("done")
	VZEROUPPER()
	RET()
}
