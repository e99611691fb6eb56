package cpu

import (
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// TestTowerAttentionEqualsSoftmax has more than one block of keys and tile of queries, and neither the patches nor the
// wider head are whole panels.
func TestTowerAttentionEqualsSoftmax(t *testing.T) {
	const w, h, heads = 18, 15, 8
	for _, dh := range []int{40, 72} {
		r := seeded(sized("tower attention ", dh))
		draw := func(scale float64) (of [heads][w * h][]float32) {
			for head := range of {
				for patch := range of[head] {
					of[head][patch] = randomFloats(r, dh, scale)
				}
			}
			return of
		}
		query, key, value := draw(2/math.Sqrt(float64(dh))), draw(1), draw(1)
		var reference [][]float64 // by head and patch
		for head := range heads {
			for _, q := range query[head] {
				reference = append(reference, refAttention(q, key[head][:], value[head][:]))
			}
		}
		eachSetBy(t, scoresOf, func(t *testing.T, k *kernelSet) {
			made, err := (&Backend{kern: k, threads: 2}).NewTower(core.TowerConfig{
				Hidden: heads * dh, Heads: heads, HeadDim: dh, Width: 8, PatchDim: 8, PositionRows: w, Pool: 3, RopeTheta: 100,
			}, w*h+10)
			must(t, err)
			defer closed(t, made)
			tower := made.(*tower)
			must(t, tower.setGrid(w, h))
			for i := range tower.key { // what another picture left
				tower.key[i] = float32(math.NaN())
			}
			for i := range tower.value {
				tower.value[i] = float32(math.NaN())
			}
			for head := range heads {
				for patch := range w * h {
					copy(tower.query[(head*w*h+patch)*dh:], query[head][patch])
					tower.file(head, patch, key[head][patch], value[head][patch])
				}
			}
			tower.attendAll()
			for row, want := range reference {
				for d := range want {
					wantNear(t, sized("row ", row, " element ", d), tower.query[row*dh+d], want[d], 4, tolerance["attention"])
				}
			}
		})
	}
}

// refAttention is the softmax of all scores times the values.
func refAttention(q []float32, keys, values [][]float32) []float64 {
	out, total := make([]float64, len(q)), 0.0
	for j, key := range keys {
		var score float64
		for d := range q {
			score += float64(q[d]) * float64(key[d])
		}
		e := math.Exp(score)
		total += e
		for d := range out {
			out[d] += e * float64(values[j][d])
		}
	}
	for d := range out {
		out[d] /= total
	}
	return out
}
