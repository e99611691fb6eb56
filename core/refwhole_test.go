package core_test

import (
	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

// A whole is the model run on all positions at once, in float64, without cache, ring, chunk, slot or stage: another
// algorithm than the runtime's. It keeps what tests compare.
type whole struct {
	residual [][][]float64 // [L+1][T][D]: after embed, then after each layer
	experts  [][][]gturbo.ExpertID
	logits   func(pos int) []float64
}

// runWhole runs tokens with soft rows in place of those of soft. ahead lists spans whose rows see each other in
// sliding layers.
func runWhole(m *tinyModel, tokens []int32, soft map[int][]float64, ahead []core.Span) *whole {
	w, cfg := m.Weights, &m.Config
	d := denseCache{}
	var xs [][]float64
	for pos, id := range tokens {
		x := embedRow(d, w, id)
		if soft[pos] != nil {
			x = soft[pos]
		}
		xs = append(xs, x)
	}
	out := &whole{residual: [][][]float64{xs}, logits: func(pos int) []float64 {
		return logitsOf(d, w, xs[pos])
	}}
	for l, lc := range cfg.Layers {
		var qs, ks, vs [][][]float64
		for pos, x := range xs {
			q, k, v := qkv(d, w, l, pos, x)
			qs, ks, vs = append(qs, q), append(ks, k), append(vs, v)
		}
		next := make([][]float64, len(xs))
		chosen := make([][]gturbo.ExpertID, len(xs))
		for pos, x := range xs {
			heads := []float64{}
			for h, q := range qs[pos] {
				g := h / (cfg.Heads / lc.KVHeads)
				var keys, values [][]float64
				for j := range xs {
					if visible(cfg, lc.Full, pos, j, ahead) {
						keys, values = append(keys, ks[j][g]), append(values, vs[j][g])
					}
				}
				heads = append(heads, attendTo(q, keys, values)...)
			}
			r := attentionOut(d, w, l, x, heads)
			ids, weights := chooseExperts(d, w, l, r)
			routed := make([]float64, cfg.Hidden)
			for rank, e := range ids {
				blob := m.blobs[l][int(e)*stride:][:stride]
				for i, v := range expertOut(d, w, l, blob, r) {
					routed[i] += weights[rank] * v
				}
			}
			next[pos], chosen[pos] = layerOut(w, l, r, sharedOut(d, w, l, r), routed), ids
		}
		xs = next
		out.residual, out.experts = append(out.residual, xs), append(out.experts, chosen)
	}
	return out
}

// visible is the mask by definition (gemma4-text 3.6, the reference's rule for images).
func visible(cfg *core.Config, full bool, query, key int, ahead []core.Span) bool {
	if full {
		return key <= query
	}
	seen := key <= query
	for _, s := range ahead {
		seen = seen || s.Lo <= query && query < s.Hi && s.Lo <= key && key < s.Hi
	}
	return seen && key > query-cfg.Window
}
