package metal

import (
	"errors"
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/standin"
)

// A testTower has the widths of a configuration and random weights.
type testTower struct {
	cfg       core.TowerConfig
	embedding core.TowerEmbedding
	layers    []core.TowerLayer
	pooling   core.TowerPooling
	projector core.Affine
	patches   []byte
	w, h      int
}

// smallTower has heads of 72, so that an axis has 18 pairs, and an FFN width that is no multiple of a tile.
func smallTower() core.TowerConfig {
	return core.TowerConfig{
		Hidden: 576, Layers: 1, Heads: 8, HeadDim: 72, Width: 200, PatchDim: 48, PositionRows: 40, Pool: 3,
		RopeTheta: 100, RMSNormEps: 1e-6, TextHidden: 70,
	}
}

func newTestTower(t testing.TB, name string, c core.TowerConfig, w, h int) *testTower {
	rng := seeded(name)
	size := 2*c.Hidden*c.PatchDim + 4*c.PositionRows*c.Hidden + c.TextHidden*c.Hidden + 1<<16
	for range c.Layers {
		size += 2*(4*c.Hidden*c.Hidden+3*c.Hidden*c.Width) + 1<<16
	}
	r := newRegion(t, size)
	x := &testTower{cfg: c, w: w, h: h, projector: r.affine(rng, c.TextHidden, c.Hidden, 4)}
	x.embedding = core.TowerEmbedding{
		Patch: r.vector(rng, c.Hidden*c.PatchDim, 0, 0.2), Position: r.vector(rng, 2*c.PositionRows*c.Hidden, 0, 0.3),
	}
	matrix := func(out, in int) core.Vector { return r.vector(rng, out*in, 0, 1/math.Sqrt(float64(in))) }
	for range c.Layers {
		l := core.TowerLayer{
			Query: matrix(c.Hidden, c.Hidden), Key: matrix(c.Hidden, c.Hidden), Value: matrix(c.Hidden, c.Hidden),
			Output: matrix(c.Hidden, c.Hidden), Gate: matrix(c.Width, c.Hidden), Up: matrix(c.Width, c.Hidden),
			Down:      matrix(c.Hidden, c.Width),
			QueryNorm: r.vector(rng, c.HeadDim, 0.3, 0.1), KeyNorm: r.vector(rng, c.HeadDim, 0.3, 0.1),
		}
		for _, v := range []*core.Vector{&l.InputNorm, &l.PostAttentionNorm, &l.PreFFNNorm, &l.PostFFNNorm} {
			*v = r.vector(rng, c.Hidden, 1, 0.2)
		}
		x.layers = append(x.layers, l)
	}
	x.pooling = core.TowerPooling{Bias: r.vector(rng, c.Hidden, 1, 1), Scale: r.vector(rng, c.Hidden, 0.1, 0.02)}
	for range w * h * c.PatchDim {
		x.patches = append(x.patches, byte(rng.Uint32()))
	}
	return x
}

func (x *testTower) run(t testing.TB, b core.TowerBackend, maxPatches int) (pooled, soft []float32) {
	t.Helper()
	tower, err := b.NewTower(x.cfg, maxPatches)
	must(t, err)
	defer closed(t, tower)
	must(t, tower.Embed(x.patches, x.w, x.h, x.embedding))
	for _, l := range x.layers {
		must(t, tower.Layer(l))
	}
	must(t, tower.Pool(x.pooling))
	rows := x.w * x.h / (x.cfg.Pool * x.cfg.Pool)
	pooled, soft = make([]float32, rows*x.cfg.Hidden), make([]float32, rows*x.cfg.TextHidden)
	must(t, tower.Pooled(pooled))
	must(t, tower.Project(x.projector, soft))
	must(t, tower.Drain())
	return pooled, soft
}

func TestTowerEqualsTheCPU(t *testing.T) {
	b := open(t, standin.Options{})
	demo := smallTower()
	demo.Hidden, demo.Heads, demo.HeadDim = 128, 4, 32
	for name, c := range map[string]core.TowerConfig{"heads of 72": smallTower(), "heads of 32": demo} {
		x := newTestTower(t, name, c, 12, 9)
		wantPooled, wantSoft := x.run(t, judge(t), 108)
		pooled, soft := x.run(t, b, 300)
		t.Logf("%s: pooled off by %.1e, soft by %.1e", name, off(pooled, wantPooled), off(soft, wantSoft))
		if d := max(off(pooled, wantPooled), off(soft, wantSoft)); !(d <= tolerance.tower) {
			t.Errorf("%s: off by %.1e", name, d)
		}
	}
}

func TestTowerRefusesGridsItCannotHold(t *testing.T) {
	b := open(t, standin.Options{})
	x := newTestTower(t, "grids", smallTower(), 12, 9)
	tower, err := b.NewTower(x.cfg, 108)
	must(t, err)
	defer closed(t, tower)
	for _, grid := range [][2]int{{0, 9}, {11, 9}, {12, 8}, {12, 12}, {45, 3}} {
		patches := make([]byte, grid[0]*grid[1]*x.cfg.PatchDim)
		if err := tower.Embed(patches, grid[0], grid[1], x.embedding); !errors.Is(err, ErrShape) {
			t.Errorf("grid %v: got %v, want ErrShape", grid, err)
		}
	}
}

func TestM1RunsTextOnly(t *testing.T) {
	b := openStandin(t, standin.Options{AppleFamily: 7})
	if _, err := b.NewTower(smallTower(), 108); !errors.Is(err, ErrImages) {
		t.Errorf("got %v, want ErrImages", err)
	}
}
