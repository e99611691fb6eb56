//go:build !noasm

package cpu

import "github.com/fieldfare/fieldfare/core"

// scoreKeys is the number of keys that all queries pass before the next ones are read: they stay in the first-level
// cache at the widest head.
const scoreKeys = 16

func avx2Scores(a attentionCall) {
	two, one := avx2Scores2Half, avx2Scores1Half
	if a.typ == core.KVFloat32 {
		two, one = avx2Scores2Float, avx2Scores1Float
	}
	for j := 0; j < a.n; j += scoreKeys {
		n, kv := min(scoreKeys, a.n-j), &a.kv[j*a.stride]
		h := 0
		for ; h+2 <= a.nq; h += 2 {
			two(&a.p[h*a.ldp+j], 4*a.ldp, &a.q[h*a.dh], a.dh, kv, a.stride, n)
		}
		if h < a.nq {
			one(&a.p[h*a.ldp+j], 0, &a.q[h*a.dh], a.dh, kv, a.stride, n)
		}
	}
}

// valuesFunc is the shape of avx2Values*.
type valuesFunc func(o *float32, ldo, chunks int, p *float32, ldp int, kv *byte, stride, n int)

// A valuesTile is a kernel for nq outputs at once, in chunks of width registers.
type valuesTile struct {
	nq, width int
	half      valuesFunc
	float     valuesFunc
}

// valuesTiles are in order of preference: the most outputs that there are, then the widest chunk that is left.
var valuesTiles = []valuesTile{
	{4, 3, avx2Values4x3Half, avx2Values4x3Float},
	{4, 2, avx2Values4x2Half, avx2Values4x2Float},
	{4, 1, avx2Values4x1Half, avx2Values4x1Float},
	{2, 4, avx2Values2x4Half, avx2Values2x4Float},
	{2, 1, avx2Values2x1Half, avx2Values2x1Float},
	{1, 4, avx2Values1x4Half, avx2Values1x4Float},
	{1, 1, avx2Values1x1Half, avx2Values1x1Float},
}

func avx2Values(a attentionCall) {
	if a.n == 0 {
		return
	}
	for h := 0; h < a.nq; {
		nq := 4
		for nq > a.nq-h {
			nq /= 2
		}
		at := 0 // element along the head
		for _, t := range valuesTiles {
			chunks := (a.dh - at) / (8 * t.width)
			if t.nq != nq || chunks == 0 {
				continue
			}
			f, size := t.half, 2
			if a.typ == core.KVFloat32 {
				f, size = t.float, 4
			}
			f(&a.q[h*a.dh+at], 4*a.dh, chunks, &a.p[h*a.ldp], 4*a.ldp, &a.kv[at*size], a.stride, a.n)
			at += 8 * t.width * chunks
		}
		h += nq
	}
}
