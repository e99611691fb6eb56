package cpu

import (
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

// A forecast is the next layer's choice on the residual stream as the experts that have run leave it, and it changes
// nothing: neither the residual stream nor what Tail makes of it.
func TestForecastCountsTheExpertsThatHaveRun(t *testing.T) {
	m := randomModel("forecast")
	c := &m.w.Config
	b, err := New(Options{Threads: 2, Float32: true})
	must(t, err)
	exec, err := b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1, KV: core.KVFloat32})
	must(t, err)
	defer closed(t, exec)
	cache, err := exec.NewCache(core.CacheSpec{MaxContext: 64, Ring: 64})
	must(t, err)
	defer closed(t, cache)
	e := exec.(*executor)
	residual := make([]float32, c.Hidden)
	for token := range int32(5) {
		batch := refSequence{tokens: []int32{token}}.batch(0, 1)
		must(t, e.Embed(batch))
		for layer := range gturbo.LayerID(len(c.Layers) - 1) {
			must(t, e.Attend(layer, batch, cache))
			must(t, e.Residual(batch, residual))
			x := widen(residual)
			r, err := e.Route(layer, batch)
			must(t, err)
			chosen := slices.Clone(r.Experts)
			must(t, e.Shared(layer, batch))
			for ran := range c.TopK + 1 {
				got, err := e.Forecast(layer+1, batch)
				must(t, err)
				want, _ := m.route(int(layer)+1, m.feedForward(int(layer), x, ran))
				for i, id := range got {
					if int(id) != want[i] {
						t.Errorf("token %d, layer %d, %d experts ran: forecast %v, want %v", token, layer, ran, got, want)
						break
					}
				}
				if ran == c.TopK {
					break
				}
				run := core.ExpertRun{Expert: chosen[ran], Bytes: m.blobs[layer][chosen[ran]],
					Picks: []core.Pick{{Rank: int32(ran)}}}
				_, err = e.Routed(layer, batch, run)
				must(t, err)
			}
			must(t, e.Tail(layer, batch))
			must(t, e.Residual(batch, residual))
			for i, want := range m.feedForward(int(layer), x, c.TopK) {
				wantNear(t, sized("layer ", layer, " residual ", i), residual[i], want, 1, tolerated("model", e.k))
			}
		}
	}
}
