package cpu

import (
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// towerMoved is the root mean square difference of soft tokens, against that of want.
func towerMoved(got, want []float32) float64 {
	var diff, size float64
	for i, w := range want {
		diff += (float64(got[i]) - float64(w)) * (float64(got[i]) - float64(w))
		size += float64(w) * float64(w)
	}
	return math.Sqrt(diff / size)
}

// TestTowerRoundingStaysFarBelowWhatBfloat16Loses compares soft tokens of each set that rounds activations with those of
// the fastest that does not. The yardstick is that one with the activations of every product in bfloat16, as the
// reference runs.
func TestTowerRoundingStaysFarBelowWhatBfloat16Loses(t *testing.T) {
	tower := newRandomTower("tower loss", 6, 3)
	exact := fastest(false)
	_, want := tower.run(t, Options{Kernels: exact.name, Threads: 2}, 18)
	rounded := *exact
	rounded.packDense = func(x []float32) {
		for i, v := range x {
			x[i] = bf16.Float32(bf16.Bits(v))
		}
	}
	moved := func(t *testing.T, k *kernelSet) float64 {
		_, got := tower.runOn(t, &Backend{kern: k, threads: 2}, 18)
		return towerMoved(got, want)
	}
	yardstick := moved(t, &rounded)
	eachSet(t, func(t *testing.T, k *kernelSet) {
		if !k.rounds {
			return
		}
		loss := moved(t, k)
		t.Logf("soft tokens move by %.1e, in bfloat16 by %.1e", loss, yardstick)
		if loss > yardstick/50 {
			t.Errorf("soft tokens move by %.1e, in bfloat16 by %.1e", loss, yardstick)
		}
	})
}
