package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wideScores: nq queries against keys, four at a time and the rest one by one; per element sixteen lanes along the head.
// The last eight elements of an odd head go through registers whose other half is zero.
func wideScores(nq int, half bool) {
	kernel(fmt.Sprintf("avx512Scores%d%s", nq, suffix(half)),
		"func(p *float32, ldp int, q *float32, dh int, kv *byte, stride, n int)",
		fmt.Sprintf("avx512Scores%d%s writes the scores of %d queries, [%d, dh], with n keys to p; ldp and "+
			"stride are in bytes.",
			nq, suffix(half), nq, nq))
	count, left := ptr("n"), GP64()
	MOVQ(count, left)
	SHRQ(Imm(2), count)
	ANDQ(Imm(3), left)
	p, q, kv, dh := ptr("p"), ptr("q"), ptr("kv"), ptr("dh")
	times("some", count, func() { wideScoresTile("some", nq, 4, half, p, q, kv, dh) })
	times("one", left, func() { wideScoresTile("one", nq, 1, half, p, q, kv, dh) })
	VZEROUPPER()
	RET()
}

// wideScoresTile does some keys and moves p and kv on.
func wideScoresTile(label string, nq, keys int, half bool, p, q, kv, dh reg.Register) {
	k, stride := make([]reg.Register, keys), ptr("stride")
	for i := range k {
		k[i] = GP64()
		MOVQ(kv, k[i])
		ADDQ(stride, kv)
	}
	acc := make([]reg.VecVirtual, nq*keys)
	for i := range acc {
		acc[i] = ZMM()
		VPXORD(acc[i], acc[i], acc[i])
	}
	ld, at, steps := GP64(), GP64(), GP64()
	MOVQ(dh, ld)
	SHLQ(Imm(2), ld)
	MOVQ(q, at)
	queries := newRowPointers(at, ld, nq)
	step := func(load func(m Mem, half bool) reg.VecVirtual) {
		var v []reg.VecVirtual
		for i := range k {
			v = append(v, load(Mem{Base: k[i]}, half))
		}
		for h := range nq {
			r := load(queries.at(h, 0), false)
			for i := range v {
				VFMADD231PS(v[i], r, acc[h*keys+i])
			}
		}
	}
	MOVQ(dh, steps)
	SHRQ(Imm(4), steps)
	ahead := GP64() // scoreKeys rows on: what is read next
	IMUL3Q(U32(24), stride, ahead)
	times(label+"_step", steps, func() {
		step(stored)
		for i := range k {
			PREFETCHT0(Mem{Base: k[i], Index: ahead, Scale: 1})
			advance(k[i], storedBytes(half))
		}
		queries.advance(lane)
	})
	TESTQ(U32(8), dh)
	JZ(LabelRef(label + "_even"))
	step(storedEight)
	Label(label + "_even")
	ldp, to := ptr("ldp"), GP64()
	MOVQ(p, to)
	low, high := quarterSums(acc, VADDPS)
	VADDPS(high, low, low)
	for h := range nq {
		switch {
		case keys == 4 && h == 0:
			VMOVUPS(low.AsX(), Mem{Base: to})
		case keys == 4:
			VEXTRACTF32X4(Imm(uint64(h)), low, Mem{Base: to})
		case h == 0:
			VMOVSS(low.AsX(), Mem{Base: to})
		default:
			VEXTRACTPS(Imm(uint64(h)), low.AsX(), Mem{Base: to})
		}
		if h+1 < nq {
			ADDQ(ldp, to)
		}
	}
	advance(p, 4*keys)
}

// storedEight reads eight cached elements; the other lanes are zero.
func storedEight(m Mem, half bool) reg.VecVirtual {
	g, mask, z := GP32(), K(), ZMM()
	MOVL(U32(0xff), g)
	KMOVW(g, mask)
	if !half {
		VMOVUPS_Z(m, mask, z)
		return z
	}
	VMOVDQU16_Z(m, mask, z.AsY()) // apart: Bochs lets a masked conversion read what is masked out
	VCVTPH2PS(z.AsY(), z)
	return z
}
