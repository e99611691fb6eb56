package cpu

import (
	"math"

	"github.com/fieldfare/fieldfare/core"
)

const (
	// maxHeadDim bounds the head width, for buffers on the stack.
	maxHeadDim = 512
	// keyBlock is the number of positions whose scores are made at once. Blocks begin at multiples of it.
	keyBlock = 256
)

// An attentionCall is one query head group, or tile of queries, against a run of stored keys or values.
type attentionCall struct {
	// q holds the queries, [nq, dh]; values adds to it instead: o[h] += sum_j p[h, j] * v[j].
	q      []float32
	nq, dh int
	// p holds scores or probabilities, [nq, ldp]: of each row the first n elements.
	p   []float32
	ldp int
	// kv holds n stored rows of at least dh elements, stride bytes apart.
	kv     []byte
	n      int
	stride int
	typ    core.KVType
}

// plainScores writes p[h, j] = sum_d q[h, d] * k[j, d]. There is no scale factor: the norms of queries and keys set it.
func plainScores(a attentionCall) {
	var buf [maxHeadDim]float32
	key := buf[:a.dh]
	for j := range a.n {
		widenKV(key, a.kv[j*a.stride:], a.typ)
		for h := range a.nq {
			a.p[h*a.ldp+j] = plainDot(key, a.q[h*a.dh:][:a.dh])
		}
	}
}

// plainValues adds sum_j p[h, j] * v[j] to each q[h], in ascending order of j.
func plainValues(a attentionCall) {
	var buf [maxHeadDim]float32
	value := buf[:a.dh]
	for j := range a.n {
		widenKV(value, a.kv[j*a.stride:], a.typ)
		for h := range a.nq {
			plainCombine(a.q[h*a.dh:][:a.dh], 1, a.p[h*a.ldp+j], value)
		}
	}
}

func plainExpSum(p []float32, shift float32) float32 {
	var sum float32
	for i, s := range p {
		e := float32(math.Exp(float64(s - shift)))
		p[i] = e
		sum += e
	}
	return sum
}

// A partial is the attention of nq queries over some of their keys: o[h] = sum_j exp(s_j - peak[h]) * v_j and
// sum[h] = sum_j exp(s_j - peak[h]).
type partial struct {
	o         []float32 // [nq, dh]
	peak, sum []float32 // [nq]
}

// partialLen is the elements of a partial, padded to whole cache lines: threads write neighbouring ones.
func partialLen(nq, dh int) int { return (nq*(dh+2) + 15) &^ 15 }

func partialAt(buf []float32, nq, dh int) partial {
	return partial{o: buf[:nq*dh], peak: buf[nq*dh:][:nq], sum: buf[nq*(dh+1):][:nq]}
}

// merge adds b, over later keys, to p. Both count at their common peak.
func (k *kernelSet) merge(p, b partial, dh int) {
	for h := range p.peak {
		peak := max(p.peak[h], b.peak[h])
		keep, add := float32(1), float32(1)
		if p.peak[h] < peak {
			keep = expf(p.peak[h] - peak)
		} else {
			add = expf(b.peak[h] - peak)
		}
		k.combine(p.o[h*dh:][:dh], keep, add, b.o[h*dh:][:dh])
		p.peak[h] = peak
		p.sum[h] = float32(p.sum[h]*keep) + float32(b.sum[h]*add)
	}
}

// finish divides by the sums: the softmax.
func (k *kernelSet) finish(dst []float32, p partial, dh int) {
	for h, sum := range p.sum {
		k.scaleNorm(dst[h*dh:][:dh], p.o[h*dh:][:dh], 1/sum, nil)
	}
}

func expf(x float32) float32 { return float32(math.Exp(float64(x))) }

// A keySource gives the stored keys and values of one KV head.
type keySource struct {
	layer *kvLayer
	// offset of the head in a stored row, bytes
	offset int
	typ    core.KVType
}

// attendBlock computes the partial of queries q over positions [lo, hi), at most keyBlock, from nothing. scores is
// scratch, [nq, keyBlock].
func (k *kernelSet) attendBlock(dst partial, q []float32, dh, lo, hi int, src keySource, scores []float32) {
	nq := len(dst.peak)
	call := attentionCall{nq: nq, dh: dh, ldp: keyBlock, stride: src.layer.stride, typ: src.typ}
	src.layer.runs(lo, hi, func(first, row, count int) {
		call.q, call.p, call.n = q, scores[first-lo:], count
		call.kv = src.layer.k[row*src.layer.stride+src.offset:]
		k.scores(call)
	})
	for h := range nq {
		s := scores[h*keyBlock:][:hi-lo]
		dst.peak[h] = k.maximum(s)
		dst.sum[h] = k.expSum(s, dst.peak[h])
	}
	clear(dst.o)
	src.layer.runs(lo, hi, func(first, row, count int) {
		call.q, call.p, call.n = dst.o, scores[first-lo:], count
		call.kv = src.layer.v[row*src.layer.stride+src.offset:]
		k.values(call)
	})
}

// attendRange computes the partial over [lo, hi) block by block. Blocks begin at multiples of keyBlock, so that the
// result depends on lo and hi alone. scratch is the worker's, at least attendScratch(nq, dh).
func (k *kernelSet) attendRange(dst partial, q []float32, dh, lo, hi int, src keySource, scratch []float32) {
	nq := len(dst.peak)
	scores, rest := scratch[:nq*keyBlock], scratch[nq*keyBlock:]
	block := partialAt(rest, nq, dh)
	for at := lo; at < hi; {
		end := min(hi, at/keyBlock*keyBlock+keyBlock)
		if at == lo {
			k.attendBlock(dst, q, dh, at, end, src, scores)
		} else {
			k.attendBlock(block, q, dh, at, end, src, scores)
			k.merge(dst, block, dh)
		}
		at = end
	}
}

func attendScratch(nq, dh int) int { return nq*keyBlock + partialLen(nq, dh) }
