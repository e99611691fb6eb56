package cpu

import (
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// An attentionCase is one layer's stored keys and values with the queries of some rows.
type attentionCase struct {
	name             string
	dh, groups, per  int
	typ              core.KVType
	ring             int // rows of the layer
	pos, rows        int
	window           int // 0: full
	spanFrom, spanTo int // rows that see each other in both directions, relative to row 0
}

var attentionCases = []attentionCase{
	{name: "one row at the start", dh: 64, groups: 2, per: 2, ring: 64, rows: 1},
	{name: "two rows see one and two keys", dh: 32, groups: 1, per: 4, ring: 64, rows: 2},
	{name: "window inside the ring", dh: 256, groups: 2, per: 2, ring: 96, pos: 500, rows: 7, window: 64},
	{name: "window of 1024 around a ring", dh: 64, groups: 1, per: 2, ring: 1151, pos: 3000, rows: 33, window: 1024},
	{name: "full layer, grouped by eight", dh: 512, groups: 1, per: 8, ring: 700, pos: 600, rows: 3},
	{name: "full layer over several segments", dh: 32, groups: 2, per: 2, ring: 2000, pos: 1990, rows: 5},
	{name: "more rows than partials hold", dh: 32, groups: 4, per: 4, ring: 400, pos: 300, rows: 40, window: 300},
	{name: "a span sees ahead", dh: 64, groups: 1, per: 2, ring: 256, pos: 100, rows: 40, window: 64,
		spanFrom: 5, spanTo: 30},
	{name: "a span longer than the window", dh: 64, groups: 1, per: 2, ring: 256, pos: 90, rows: 100, window: 64,
		spanFrom: 3, spanTo: 99},
	{name: "float32 cache", dh: 128, groups: 2, per: 2, typ: core.KVFloat32, ring: 300, pos: 270, rows: 4},
	{name: "odd head of 72", dh: 72, groups: 2, per: 1, typ: core.KVFloat32, ring: 300, pos: 270, rows: 4},
}

func (c attentionCase) job(t *testing.T, k *kernelSet, threads int, partials int) (*attendJob, *pool) {
	r := seeded(c.name)
	layer := &kvLayer{rows: c.ring, stride: c.groups * c.dh * kvBytes(c.typ)}
	layer.k, layer.v = guarded(c.ring*layer.stride), guarded(c.ring*layer.stride)
	for row := range c.ring {
		k.store(layer.k[row*layer.stride:][:layer.stride], randomFloats(r, c.groups*c.dh, 1), c.typ)
		k.store(layer.v[row*layer.stride:][:layer.stride], randomFloats(r, c.groups*c.dh, 1), c.typ)
	}
	j := &attendJob{
		k: k, q: randomFloats(r, c.rows*c.groups*c.per*c.dh, 2/math.Sqrt(float64(c.dh))),
		dh: c.dh, groups: c.groups, perGroup: c.per, pos: c.pos, window: c.window, layer: layer, typ: c.typ,
		partials: make([]float32, partials),
	}
	for row := range c.rows {
		end := c.pos + row + 1
		if row >= c.spanFrom && row < c.spanTo {
			end = c.pos + c.spanTo
		}
		j.ends = append(j.ends, end)
	}
	for range threads {
		j.scratch = append(j.scratch, make([]float32, attendJobScratch(c.per, c.dh)))
	}
	p := newPool(threads)
	t.Cleanup(p.close)
	return j, p
}

// want is softmax(q*k)*v in float64, two passes, straight from the definition of visibility.
func (c attentionCase) want(j *attendJob, row, head int) []float64 {
	x := make([]float32, c.dh)
	stored := func(from []byte, pos int) []float32 {
		group := head / c.per
		widenKV(x, from[pos%c.ring*j.layer.stride+group*c.dh*kvBytes(c.typ):], c.typ)
		return x
	}
	q := widen(j.q[(row*c.groups*c.per+head)*c.dh:][:c.dh])
	var weights []float64
	var positions []int
	for pos := range c.pos + c.rows {
		inSpan := row >= c.spanFrom && row < c.spanTo && pos >= c.pos+c.spanFrom && pos < c.pos+c.spanTo
		if pos > c.pos+row && !inSpan || c.window > 0 && pos <= c.pos+row-c.window {
			continue
		}
		var s float64
		for d, k := range stored(j.layer.k, pos) {
			s += q[d] * float64(k)
		}
		weights, positions = append(weights, math.Exp(s)), append(positions, pos)
	}
	var sum float64
	out := make([]float64, c.dh)
	for i, w := range weights {
		sum += w
		for d, v := range stored(j.layer.v, positions[i]) {
			out[d] += w * float64(v)
		}
	}
	for d := range out {
		out[d] /= sum
	}
	return out
}

func TestAttentionEqualsSoftmaxOverVisiblePositions(t *testing.T) {
	eachSetBy(t, scoresOf, func(t *testing.T, k *kernelSet) {
		for _, c := range attentionCases {
			t.Run(c.name, func(t *testing.T) {
				j, p := c.job(t, k, 2, 1<<17)
				heads := c.groups * c.per
				var want [][]float64
				for row := range c.rows {
					for head := range heads {
						want = append(want, c.want(j, row, head))
					}
				}
				j.run(p, c.rows)
				for i, w := range want {
					for d := range w {
						wantNear(t, sized("row ", i/heads, " head ", i%heads, " element ", d), j.q[i*c.dh+d], w[d], 4,
							tolerance["attention"])
					}
				}
			})
		}
	})
}

func TestAttentionBitsDoNotDependOnRowsThreadsOrSplitting(t *testing.T) {
	eachSetBy(t, scoresOf, func(t *testing.T, k *kernelSet) {
		for _, c := range attentionCases {
			t.Run(c.name, func(t *testing.T) {
				whole, p := c.job(t, k, 1, 0)
				whole.run(p, c.rows)
				split, p := c.job(t, k, 3, 1<<20)
				split.run(p, c.rows)
				wantSameBits(t, "split over positions", split.q, whole.q)
				single, p := c.job(t, k, 2, 1<<17)
				last := c.rows - 1
				single.q = single.q[last*c.groups*c.per*c.dh:]
				single.ends, single.pos = single.ends[last:], c.pos+last
				single.run(p, 1)
				wantSameBits(t, "alone", single.q, whole.q[last*c.groups*c.per*c.dh:])
			})
		}
	})
}

func TestSegmentsCoverEachRangeOnce(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {511, 513}, {0, 16384}, {1, 16386}, {100, 262144}, {5, 4096}} {
		at := c[0]
		n := segmentCount(c[0], c[1])
		for i := range n {
			from, to := segmentBounds(c[0], c[1], i)
			if from != at || to <= from {
				t.Fatalf("[%d, %d): segment %d is [%d, %d), want it to begin at %d", c[0], c[1], i, from, to, at)
			}
			at = to
		}
		if at != c[1] || n > maxSegments {
			t.Fatalf("[%d, %d): %d segments end at %d", c[0], c[1], n, at)
		}
	}
}
