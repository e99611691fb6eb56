package cpu

import (
	"errors"
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

// randomTower has heads of 72, so that an axis has 18 pairs, and an FFN width that is no multiple of 64.
type randomTower struct {
	cfg       core.TowerConfig
	embedding core.TowerEmbedding
	layers    []core.TowerLayer
	pooling   core.TowerPooling
	projector core.Affine
	patches   []byte
	w, h      int
}

func newRandomTower(name string, w, h int) *randomTower {
	t := &randomTower{cfg: core.TowerConfig{
		Hidden: 576, Layers: 2, Heads: 8, HeadDim: 72, Width: 200, PatchDim: 48, PositionRows: 40, Pool: 3,
		RopeTheta: 100, RMSNormEps: 1e-6, TextHidden: 70,
	}, w: w, h: h}
	if testing.Short() { // under emulation
		t.cfg.Layers = 1
	}
	t.fill(name)
	return t
}

// fill makes up weights and patches.
func (t *randomTower) fill(name string) {
	r, c := seeded(name), t.cfg
	t.projector = randomAffine(r, c.TextHidden, c.Hidden, 4)
	t.embedding = core.TowerEmbedding{
		Patch: randomVector(r, c.Hidden*c.PatchDim, 0, 0.2), Position: randomVector(r, 2*c.PositionRows*c.Hidden, 0, 0.3),
	}
	matrix := func(out, in int) core.Vector { return randomVector(r, out*in, 0, 1/math.Sqrt(float64(in))) }
	for range c.Layers {
		l := core.TowerLayer{
			Query: matrix(c.Hidden, c.Hidden), Key: matrix(c.Hidden, c.Hidden), Value: matrix(c.Hidden, c.Hidden),
			Output: matrix(c.Hidden, c.Hidden), Gate: matrix(c.Width, c.Hidden), Up: matrix(c.Width, c.Hidden),
			Down:      matrix(c.Hidden, c.Width),
			QueryNorm: randomVector(r, c.HeadDim, 0.3, 0.1), KeyNorm: randomVector(r, c.HeadDim, 0.3, 0.1),
		}
		for _, v := range []*core.Vector{&l.InputNorm, &l.PostAttentionNorm, &l.PreFFNNorm, &l.PostFFNNorm} {
			*v = randomVector(r, c.Hidden, 1, 0.2)
		}
		t.layers = append(t.layers, l)
	}
	t.pooling = core.TowerPooling{Bias: randomVector(r, c.Hidden, 1, 1), Scale: randomVector(r, c.Hidden, 0.1, 0.02)}
	for range t.w * t.h * c.PatchDim {
		t.patches = append(t.patches, byte(r.Uint32()))
	}
}

// reference returns pooled rows and soft tokens in float64, with the whole matrix of scores.
func (t *randomTower) reference() (pooled, soft [][]float64) {
	c := t.cfg
	x := make([][]float64, t.w*t.h)
	embed := refVector(t.embedding.Patch)
	for p := range x {
		in := make([]float64, c.PatchDim)
		for i, v := range t.patches[p*c.PatchDim:][:c.PatchDim] {
			in[i] = 2 * (float64(v)/255 - 0.5)
		}
		x[p] = refMatMul(embed, in)
		for i := range x[p] {
			x[p][i] += float64(vectorAt(t.embedding.Position, p%t.w*c.Hidden+i)) +
				float64(vectorAt(t.embedding.Position, (c.PositionRows+p/t.w)*c.Hidden+i))
		}
	}
	for _, l := range t.layers {
		t.layer(l, x)
	}
	for n := range len(x) / (c.Pool * c.Pool) {
		perRow := t.w / c.Pool
		row := make([]float64, c.Hidden)
		for k := range c.Pool * c.Pool {
			p := (n/perRow*c.Pool+k/c.Pool)*t.w + n%perRow*c.Pool + k%c.Pool
			for i, v := range x[p] {
				row[i] += v / float64(c.Pool*c.Pool)
			}
		}
		for i := range row {
			row[i] = (row[i]*math.Sqrt(float64(c.Hidden)) - float64(vectorAt(t.pooling.Bias, i))) *
				float64(vectorAt(t.pooling.Scale, i))
		}
		pooled = append(pooled, row)
		soft = append(soft, refMul(t.projector, refNorm(row, nil, c.RMSNormEps)))
	}
	return pooled, soft
}

func (t *randomTower) layer(l core.TowerLayer, x [][]float64) {
	c := t.cfg
	heads := func(y []float64, w core.Vector, p int) (out [][]float64) {
		for h := range c.Heads {
			head := y[h*c.HeadDim:][:c.HeadDim]
			if w == nil {
				out = append(out, refNorm(head, nil, c.RMSNormEps))
				continue
			}
			n := refNorm(head, refVector(w), c.RMSNormEps)
			refRotate(n[:c.HeadDim/2], p%t.w, c.RopeTheta, c.HeadDim/4)
			refRotate(n[c.HeadDim/2:], p/t.w, c.RopeTheta, c.HeadDim/4)
			out = append(out, n)
		}
		return out
	}
	query, key, value, output := refVector(l.Query), refVector(l.Key), refVector(l.Value), refVector(l.Output)
	gateMatrix, upMatrix, down := refVector(l.Gate), refVector(l.Up), refVector(l.Down)
	q, k, v := make([][][]float64, len(x)), make([][][]float64, len(x)), make([][][]float64, len(x))
	for p := range x {
		u := refNorm(x[p], refVector(l.InputNorm), c.RMSNormEps)
		q[p], k[p], v[p] = heads(refMatMul(query, u), l.QueryNorm, p), heads(refMatMul(key, u), l.KeyNorm, p),
			heads(refMatMul(value, u), nil, p)
	}
	add := func(p int, y []float64, w core.Vector) {
		for i, v := range refNorm(y, refVector(w), c.RMSNormEps) {
			x[p][i] += v
		}
	}
	for p := range x {
		var joined []float64
		for h := range c.Heads {
			out, sum := make([]float64, c.HeadDim), 0.0
			for j := range x {
				var s float64
				for d := range out {
					s += q[p][h][d] * k[j][h][d]
				}
				e := math.Exp(s)
				sum += e
				for d := range out {
					out[d] += e * v[j][h][d]
				}
			}
			for d := range out {
				joined = append(joined, out[d]/sum)
			}
		}
		add(p, refMatMul(output, joined), l.PostAttentionNorm)
		u := refNorm(x[p], refVector(l.PreFFNNorm), c.RMSNormEps)
		gate, up := refMatMul(gateMatrix, u), refMatMul(upMatrix, u)
		for i, g := range gate {
			gate[i] = 0.5 * g * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(g+0.044715*g*g*g))) * up[i]
		}
		add(p, refMatMul(down, gate), l.PostFFNNorm)
	}
}

func (t *randomTower) run(tt *testing.T, o Options, maxPatches int) (pooled, soft []float32) {
	tt.Helper()
	b, err := New(o)
	must(tt, err)
	return t.runOn(tt, b, maxPatches)
}

func (t *randomTower) runOn(tt *testing.T, b *Backend, maxPatches int) (pooled, soft []float32) {
	tt.Helper()
	tower, err := b.NewTower(t.cfg, maxPatches)
	must(tt, err)
	defer closed(tt, tower)
	must(tt, tower.Embed(t.patches, t.w, t.h, t.embedding))
	for _, l := range t.layers {
		must(tt, tower.Layer(l))
	}
	must(tt, tower.Pool(t.pooling))
	rows := t.w * t.h / (t.cfg.Pool * t.cfg.Pool)
	pooled, soft = make([]float32, rows*t.cfg.Hidden), make([]float32, rows*t.cfg.TextHidden)
	must(tt, tower.Pooled(pooled))
	must(tt, tower.Project(t.projector, soft))
	must(tt, tower.Drain())
	return pooled, soft
}

func TestTowerEqualsTheReference(t *testing.T) {
	tower := newRandomTower("tower", 12, 9)
	pooled, soft := tower.reference()
	eachSetBy(t, denseOf, func(t *testing.T, k *kernelSet) {
		gotPooled, gotSoft := tower.run(t, Options{Kernels: k.name, Threads: 2}, 300)
		compareRows(t, "pooled", gotPooled, pooled, tolerance["tower"])
		compareRows(t, "soft", gotSoft, soft, tolerated("tower", k))
	})
}

func compareRows(t *testing.T, what string, got []float32, want [][]float64, tol float64) {
	t.Helper()
	var top float64
	for _, row := range want {
		for _, v := range row {
			top = max(top, math.Abs(v))
		}
	}
	for i, g := range got {
		n := len(want[0])
		wantNear(t, sized(what, " row ", i/n, " element ", i%n), g, want[i/n][i%n], top, tol)
	}
}

func TestTowerBitsDoNotDependOnThreadsOrScratch(t *testing.T) {
	w, h := 21, 15 // more than two row blocks and one key block
	if testing.Short() {
		w, h = 12, 12
	}
	tower := newRandomTower("tower bits", w, h)
	eachSetBy(t, denseOf, func(t *testing.T, k *kernelSet) {
		pooled, soft := tower.run(t, Options{Kernels: k.name, Threads: 1}, w*h)
		otherPooled, otherSoft := tower.run(t, Options{Kernels: k.name, Threads: 3}, 1000)
		wantSameBits(t, "pooled", otherPooled, pooled)
		wantSameBits(t, "soft", otherSoft, soft)
	})
}

func TestTowerRefusesGridsItCannotHold(t *testing.T) {
	tower := newRandomTower("grids", 12, 9)
	b, err := New(Options{})
	must(t, err)
	made, err := b.NewTower(tower.cfg, 108)
	must(t, err)
	defer closed(t, made)
	for _, grid := range [][2]int{{0, 9}, {11, 9}, {12, 8}, {12, 12}, {45, 3}} {
		patches := make([]byte, grid[0]*grid[1]*tower.cfg.PatchDim)
		if err := made.Embed(patches, grid[0], grid[1], tower.embedding); !errors.Is(err, ErrShape) {
			t.Errorf("grid %v: got %v, want ErrShape", grid, err)
		}
	}
}

// A budget of 280 soft tokens takes 2,520 patches; the tower of the 26B must do with 66 MiB.
func TestTowerScratchIsBounded(t *testing.T) {
	b, err := New(Options{Threads: 2})
	must(t, err)
	cfg := core.TowerConfig{
		Hidden: 1152, Layers: 27, Heads: 16, HeadDim: 72, Width: 4304, PatchDim: 768, PositionRows: 10240, Pool: 3,
		RopeTheta: 100, RMSNormEps: 1e-6, TextHidden: 2816,
	}
	made, err := b.NewTower(cfg, 2520)
	must(t, err)
	defer closed(t, made)
	if size := len(made.(*tower).mem.region.Bytes()); size > 66<<20 {
		t.Fatalf("%d bytes of scratch", size)
	}
}
