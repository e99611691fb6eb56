package cpu

import (
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// BenchmarkTower is one layer of the 26B's tower on a picture of 2,340 patches, a twenty-seventh of its work.
func BenchmarkTower(b *testing.B) {
	const w, h = 60, 39
	r := &randomTower{cfg: core.TowerConfig{
		Hidden: 1152, Layers: 1, Heads: 16, HeadDim: 72, Width: 4304, PatchDim: 768, PositionRows: 60, Pool: 3,
		RopeTheta: 100, RMSNormEps: 1e-6, TextHidden: 64,
	}, w: w, h: h}
	r.fill("tower bench")
	defer releaseGuarded()
	c := r.cfg
	dense := 4*c.Hidden*c.Hidden + 3*c.Hidden*c.Width
	flops := 2 * float64(w*h) * float64(dense+2*c.Hidden*w*h)
	benchThreads(b, func(b *testing.B, k *kernelSet, p *pool) {
		if k == plainKernels {
			b.Skip("minutes")
		}
		tower, err := (&Backend{kern: k, threads: p.threads}).NewTower(c, w*h)
		if err != nil {
			b.Fatal(err)
		}
		defer tower.Close()
		if err := tower.Embed(r.patches, w, h, r.embedding); err != nil {
			b.Fatal(err)
		}
		benchFlops(b, flops, func() {
			if err := tower.Layer(r.layers[0]); err != nil {
				b.Fatal(err)
			}
		})
	})
}
