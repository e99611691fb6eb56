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

// stored reads a register of cached elements.
func stored(m Mem, half bool) reg.VecVirtual {
	y := vec()
	if half {
		VCVTPH2PS(m, y)
	} else {
		VMOVUPS(m, y)
	}
	return y
}

// storedBytes is a register of cached elements in memory.
func storedBytes(half bool) int {
	if half {
		return lane / 2
	}
	return lane
}

// scores: nq queries against keys, some at a time and the rest one by one; per element eight lanes along the head.
func scores(nq, keys int, half bool) {
	kernel(fmt.Sprintf("simdScores%d%s", nq, suffix(half)),
		"func(p *float32, ldp int, q *float32, dh int, kv *byte, stride, n int)",
		fmt.Sprintf("simdScores%d%s writes the scores of %d queries, [%d, dh], with n keys to p; ldp and "+
			"stride are in bytes.",
			nq, suffix(half), nq, nq))
	count, left := ptr("n"), GP64()
	if keys == 4 {
		MOVQ(count, left)
		SHRQ(Imm(2), count)
		ANDQ(Imm(3), left)
	} else { // n / keys, for n below 2^16
		MOVQ(count, left)
		IMUL3Q(U32(uint32(65536/keys+1)), count, count)
		SHRQ(Imm(16), count)
		whole := GP64()
		IMUL3Q(U32(uint32(keys)), count, whole)
		SUBQ(whole, left)
	}
	p, kv, stride := ptr("p"), ptr("kv"), ptr("stride")
	ahead := GP64() // scoreKeys rows on: what is read next, see simd_attention.go
	IMUL3Q(U32(24), stride, ahead)
	times("some", count, func() { scoresTile("some", nq, keys, half, p, kv, stride, ahead) })
	times("one", left, func() { scoresTile("one", nq, 1, half, p, kv, stride, ahead) })
	VZEROUPPER()
	RET()
}

// scoresTile does some keys and moves p and kv on.
func scoresTile(label string, nq, keys int, half bool, p, kv, stride, ahead reg.Register) {
	k := make([]reg.Register, keys)
	for i := range k {
		k[i] = GP64()
		MOVQ(kv, k[i])
		ADDQ(stride, kv)
	}
	acc := make([][4]reg.VecVirtual, nq)
	for h := range acc {
		for i := range keys {
			acc[h][i] = zero()
		}
	}
	// Queries h, h+1 and h+2 through one register and an index, h+3 through another.
	at, fourth, steps, row := GP64(), GP64(), GP64(), GP64()
	Load(Param("dh"), row)
	MOVQ(row, steps)
	SHLQ(Imm(2), row)
	Load(Param("q"), at)
	LEAQ(Mem{Base: at, Index: row, Scale: 2}, fourth)
	ADDQ(row, fourth)
	queries := []Mem{{Base: at}, {Base: at, Index: row, Scale: 1}, {Base: at, Index: row, Scale: 2}, {Base: fourth}}[:nq]
	SHRQ(Imm(3), steps)
	Label(label + "_step")
	var v []reg.VecVirtual
	for i := range k {
		PREFETCHT0(Mem{Base: k[i], Index: ahead, Scale: 1})
		v = append(v, stored(Mem{Base: k[i]}, half))
		advance(k[i], storedBytes(half))
	}
	for h := range queries {
		y := YMM()
		VMOVUPS(queries[h], y)
		for i := range v {
			VFMADD231PS(v[i], y, acc[h][i])
		}
	}
	advance(at, lane)
	advance(fourth, lane)
	DECQ(steps)
	JNZ(LabelRef(label + "_step"))
	ldp, to := ptr("ldp"), GP64()
	MOVQ(p, to)
	for h := range acc {
		switch keys {
		case 4:
			VMOVUPS(sum8x4(acc[h]), Mem{Base: to})
		case 3:
			acc[h][3] = acc[h][2]
			s := sum8x4(acc[h])
			VMOVSD(s, Mem{Base: to})
			VEXTRACTPS(Imm(2), s, Mem{Base: to, Disp: 8})
		case 1:
			VMOVSS(sum8(acc[h][0]), Mem{Base: to})
		}
		if h+1 < nq {
			ADDQ(ldp, to)
		}
	}
	advance(p, 4*keys)
}

// values: o += p*v for nq outputs, chunks of d registers each along the head, up to 32 keys at a time, so that most of
// their rows are still in the caches when the next chunk comes (rows a power of two apart share few sets). Measured: 8,
// 16, 32.
func values(nq, d int, half bool) {
	kernel(fmt.Sprintf("%sValues%dx%d%s", prefix, nq, d, suffix(half)),
		"func(o *float32, ldo, chunks int, p *float32, ldp int, kv *byte, stride, n int)",
		fmt.Sprintf("%sValues%dx%d%s adds n values, weighted by p, to chunks of %d elements of %d "+
			"outputs; ldo, ldp and stride are in bytes.",
			prefix, nq, d, suffix(half), lane/4*d, nq))
	p, kv, stride := ptr("p"), ptr("kv"), ptr("stride")
	ldp, ldo, left := ptr("ldp"), ptr("ldo"), ptr("n")
	Label("keys")
	TESTQ(left, left)
	JZ(LabelRef("done"))
	some := GP64()
	MOVQ(left, some)
	CMPQ(some, Imm(32))
	JLE(LabelRef("few"))
	MOVQ(U32(32), some)
	Label("few")
	// What is read next, line by line: whole rows of the next 32 keys.
	next, rowEnd := GP64(), AllocLocal(8)
	MOVQ(stride, next)
	SHLQ(Imm(5), next)
	ADDQ(kv, next)
	rowBytes := func() reg.GPVirtual {
		n := GP64()
		Load(Param("chunks"), n)
		IMUL3Q(U32(uint32(storedBytes(half)*d)), n, n)
		return n
	}
	end := rowBytes()
	ADDQ(next, end)
	MOVQ(end, rowEnd)
	o, column, chunks := ptr("o"), GP64(), GP64()
	MOVQ(kv, column)
	Load(Param("chunks"), chunks)
	times("chunk", chunks, func() {
		acc := make([][]reg.VecVirtual, nq)
		row := GP64()
		MOVQ(o, row)
		for h := range acc {
			for i := range d {
				y := vec()
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
		PREFETCHT0(Mem{Base: next})
		ADDQ(U32(64), next)
		CMPQ(next, rowEnd)
		JLT(LabelRef("row"))
		MOVQ(rowEnd, next)
		ADDQ(stride, rowEnd)
		ADDQ(stride, next)
		SUBQ(rowBytes(), next)
		Label("row")
		for i := range d {
			x = append(x, stored(Mem{Base: v, Disp: storedBytes(half) * i}, half))
		}
		weight := GP64()
		MOVQ(w, weight)
		for h := range acc {
			b := vec()
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
