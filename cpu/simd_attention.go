//go:build (amd64 || arm64) && !noasm

package cpu

import "github.com/fieldfare/fieldfare/core"

// scoreKeys is the number of keys that all queries pass before the next ones are read: they stay in the first-level
// cache at the widest head. Tiles are of three or four keys.
const scoreKeys = 24

// scoresFunc is the shape of simdScores*.
type scoresFunc func(p *float32, ldp int, q *float32, dh int, kv *byte, stride, n int)

// A scoresTile is a kernel for nq queries at once.
type scoresTile struct {
	nq    int
	half  scoresFunc
	float scoresFunc
}

func simdScores(a attentionCall) { tiledScores(a, scoresTiles) }

func tiledScores(a attentionCall, tiles []scoresTile) {
	for j := 0; j < a.n; j += scoreKeys {
		n, kv := min(scoreKeys, a.n-j), &a.kv[j*a.stride]
		for h := 0; h < a.nq; {
			t := &tiles[0]
			for i := 1; t.nq > a.nq-h; i++ {
				t = &tiles[i]
			}
			f := t.half
			if a.typ == core.KVFloat32 {
				f = t.float
			}
			f(&a.p[h*a.ldp+j], 4*a.ldp, &a.q[h*a.dh], a.dh, kv, a.stride, n)
			h += t.nq
		}
	}
}

// valuesFunc is the shape of simdValues*.
type valuesFunc func(o *float32, ldo, chunks int, p *float32, ldp int, kv *byte, stride, n int)

// A valuesTile is a kernel for nq outputs at once, in chunks of width times 8 elements.
type valuesTile struct {
	nq, width int
	half      valuesFunc
	float     valuesFunc
}

func simdValues(a attentionCall) { tiledValues(a, valuesTiles) }

func tiledValues(a attentionCall, tiles []valuesTile) {
	if a.n == 0 {
		return
	}
	for h := 0; h < a.nq; {
		nq := maxValuesQueries
		for nq > a.nq-h {
			nq /= 2
		}
		at := 0 // element along the head
		for _, t := range tiles {
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
