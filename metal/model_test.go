package metal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/metal/standin"
)

// A testModel has weights in one mapped region and experts in slots of their own.
type testModel struct {
	w     *core.Weights
	blobs [][][]byte // [layer][expert]
}

// smallConfig has every kind of layer, awkward group counts (3, 5) and a window that rings wrap around.
func smallConfig() core.Config {
	sliding := core.LayerConfig{KVHeads: 2, HeadDim: 64}
	full := core.LayerConfig{Full: true, KVHeads: 1, HeadDim: 128, ValueFromKey: true}
	return core.Config{
		Hidden: 192, Layers: []core.LayerConfig{sliding, full, sliding}, Heads: 4, Window: 24, SharedWidth: 320,
		ExpertWidth: 64, Experts: 9, TopK: 3, Vocab: 99, RMSNormEps: 1e-6, LogitSoftcap: 30, EmbedScale: 13.875,
		MaxPositions: 4096, RopeTheta: 1e4, FullRopeTheta: 1e6, FullRotary: 16,
	}
}

func newTestModel(t testing.TB, name string, c core.Config) *testModel {
	rng := seeded(name)
	size := c.Vocab * c.Hidden
	for _, lc := range c.Layers {
		size += (2*c.Heads*lc.HeadDim+2*lc.KVHeads*lc.HeadDim+3*c.SharedWidth+2*c.Experts+64)*c.Hidden + 1<<16 // bytes, amply
	}
	r := newRegion(t, size)
	d := c.Hidden
	m := &testModel{w: &core.Weights{
		Config: c, Region: r.bytes, Embed: r.affine(rng, c.Vocab, d, 4), Norm: r.vector(rng, d, 6, 1),
	}}
	for _, lc := range c.Layers {
		l := core.LayerWeights{
			Query: r.affine(rng, c.Heads*lc.HeadDim, d, 4), Key: r.affine(rng, lc.KVHeads*lc.HeadDim, d, 4),
			Output: r.affine(rng, d, c.Heads*lc.HeadDim, 4), QueryNorm: r.vector(rng, lc.HeadDim, 0.4, 0.1),
			KeyNorm: r.vector(rng, lc.HeadDim, 0.4, 0.1), Router: r.affine(rng, c.Experts, d, 8),
			RouterScale: r.vector(rng, d, 10, 1), PerExpertScale: r.vector(rng, c.Experts, 1, 0.2),
			Gate: r.affine(rng, c.SharedWidth, d, 4), Up: r.affine(rng, c.SharedWidth, d, 4),
			Down: r.affine(rng, d, c.SharedWidth, 8), Scalar: 0.75,
		}
		if !lc.ValueFromKey {
			l.Value = r.affine(rng, lc.KVHeads*lc.HeadDim, d, 4)
		}
		for _, v := range []*core.Vector{&l.InputNorm, &l.PostAttentionNorm, &l.PreSharedNorm, &l.PreRoutedNorm,
			&l.PostSharedNorm, &l.PostRoutedNorm, &l.PostFFNNorm} {
			*v = r.vector(rng, d, 1, 0.2)
		}
		m.w.Layers = append(m.w.Layers, l)
		m.addExperts(t, name)
	}
	return m
}

// distinctExperts bounds the memory of large models: the others repeat these.
const distinctExperts = 9

// addExperts makes the experts of one layer; the layout is the same for all.
func (m *testModel) addExperts(t testing.TB, name string) {
	c, x := &m.w.Config, &m.w.Expert
	rng := seeded(fmt.Sprint(name, len(m.blobs)))
	var blobs [][]byte
	for id := range c.Experts {
		if id >= distinctExperts {
			blobs = append(blobs, blobs[id%distinctExperts])
			continue
		}
		r := newRegion(t, 3*c.ExpertWidth*c.Hidden)
		base := &r.bytes[0]
		place := func(w core.Affine) core.AffineRange {
			at := func(part []byte) int { return offsetFrom(base, part) }
			return core.AffineRange{Codes: at(w.Codes), Scales: at(w.Scales), Biases: at(w.Biases), Out: w.Out, In: w.In, Bits: 4}
		}
		x.Gate = place(r.affine(rng, c.ExpertWidth, c.Hidden, 4))
		x.Up = place(r.affine(rng, c.ExpertWidth, c.Hidden, 4))
		x.Down = place(r.affine(rng, c.Hidden, c.ExpertWidth, 4))
		x.Stride = len(r.bytes)
		blobs = append(blobs, r.bytes)
	}
	m.blobs = append(m.blobs, blobs)
}

// A sequence is what a model is run on: ids, soft tokens in their place, and spans that see both ways.
type sequence struct {
	tokens []int32
	soft   map[int][]float32
	spans  [][2]int
}

// testSequence has text, a span of soft tokens shorter than the window and one longer than it.
func testSequence(c *core.Config, n int) sequence {
	r := seeded("sequence")
	s := sequence{soft: map[int][]float32{}, spans: [][2]int{{5, 17}, {30, 62}}}
	for range n {
		s.tokens = append(s.tokens, int32(r.IntN(c.Vocab)))
	}
	for _, span := range s.spans {
		for p := span[0]; p < min(span[1], n); p++ {
			row := make([]float32, c.Hidden)
			for i := range row {
				row[i] = float32(3 * r.NormFloat64())
			}
			s.soft[p] = row
		}
	}
	return s
}

func (s sequence) batch(pos, n int) *core.Batch {
	b := &core.Batch{Tokens: s.tokens[pos : pos+n], Pos: pos}
	for row := range n {
		end := pos + row + 1
		b.FullEnd = append(b.FullEnd, end)
		for _, span := range s.spans {
			if end > span[0] && end <= span[1] {
				end = min(span[1], pos+n)
			}
		}
		b.SlidingEnd = append(b.SlidingEnd, end)
		if soft, ok := s.soft[pos+row]; ok {
			b.Soft = append(b.Soft, core.SoftRow{Row: row, Data: soft})
		}
	}
	return b
}

// A runPlan says how a sequence goes through an executor.
type runPlan struct {
	chunks  []int // rows of each chunk
	ring    int
	kv      core.KVType
	reverse bool // experts in descending order
	apart   bool // experts one by one, none held back for the next
}

// run returns the logits of every position, [T*V], and the residual stream of the last chunk.
func (m *testModel) run(t testing.TB, b core.Backend, s sequence, plan runPlan) (logits, residual []float32) {
	t.Helper()
	e, err := b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: slices.Max(plan.chunks), KV: plan.kv})
	must(t, err)
	defer closed(t, e)
	c, err := e.NewCache(core.CacheSpec{MaxContext: len(s.tokens), Ring: plan.ring})
	must(t, err)
	defer closed(t, c)
	pos := 0
	for _, n := range plan.chunks {
		batch := s.batch(pos, n)
		m.forward(t, e, c, batch, plan)
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		out := make([]float32, n*m.w.Config.Vocab)
		must(t, e.Head(batch, rows, out))
		logits = append(logits, out...)
		residual = make([]float32, n*m.w.Config.Hidden)
		must(t, e.Residual(batch, residual))
		pos += n
	}
	return logits, residual
}

// forward walks the stages as the forward program does.
func (m *testModel) forward(t testing.TB, e core.Executor, c core.Cache, b *core.Batch, plan runPlan) {
	t.Helper()
	must(t, e.Embed(b))
	for l := range m.w.Layers {
		layer := gturbo.LayerID(l)
		must(t, e.Attend(layer, b, c))
		routing, err := e.Route(layer, b)
		must(t, err)
		must(t, e.Shared(layer, b))
		runs := m.runsOf(l, routing, plan.reverse)
		for i, run := range runs {
			run.More = i+1 < len(runs) && !plan.apart
			_, err := e.Routed(layer, b, run)
			must(t, err)
		}
		must(t, e.Tail(layer, b))
	}
}

// runsOf groups a routing by expert.
func (m *testModel) runsOf(layer int, r core.Routing, reverse bool) []core.ExpertRun {
	k, experts := m.w.Config.TopK, m.w.Config.Experts
	var runs []core.ExpertRun
	for id := range experts {
		if reverse {
			id = experts - 1 - id
		}
		run := core.ExpertRun{Expert: gturbo.ExpertID(id), Bytes: m.blobs[layer][id]}
		for j, chosen := range r.Experts {
			if int(chosen) == id {
				run.Picks = append(run.Picks, core.Pick{Row: int32(j / k), Rank: int32(j % k)})
			}
		}
		if len(run.Picks) > 0 {
			runs = append(runs, run)
		}
	}
	return runs
}

func judge(t testing.TB) *cpu.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{Kernels: "plain"})
	must(t, err)
	return b
}

func TestModelEqualsTheCPU(t *testing.T) {
	m := newTestModel(t, "model", smallConfig())
	b := open(t, standin.Options{})
	s := testSequence(&m.w.Config, 100)
	for kv, limit := range map[core.KVType]float64{core.KVFloat32: tolerance.model, core.KVFloat16: tolerance.modelHalf} {
		want, wantResidual := m.run(t, judge(t), s, runPlan{chunks: []int{100}, ring: 200, kv: kv})
		got, residual := m.run(t, b, s, runPlan{chunks: []int{100}, ring: 200, kv: kv})
		t.Logf("logits off by %.1e, residual by %.1e", off(got, want), off(residual, wantResidual))
		if d := off(got, want); !(d <= limit) {
			t.Errorf("KV type %d: logits off by %.1e", kv, d)
		}
	}
}

// fullConfig is two layers of the 26B, one of each kind.
func fullConfig() core.Config {
	return core.Config{
		Hidden: 2816, Heads: 16, Window: 1024, SharedWidth: 2112, ExpertWidth: 704, Experts: 128, TopK: 8, Vocab: 512,
		Layers: []core.LayerConfig{
			{KVHeads: 8, HeadDim: 256}, {Full: true, KVHeads: 2, HeadDim: 512, ValueFromKey: true},
		},
		RMSNormEps: 1e-6, LogitSoftcap: 30, EmbedScale: 53, MaxPositions: 4096, RopeTheta: 1e4, FullRopeTheta: 1e6, FullRotary: 64,
	}
}

// Layers of the 26B's dimensions: a few rows at once, then one.
func TestFullSizeLayersEqualTheCPU(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: layers of the 26B take a while on the emulator")
	}
	m := newTestModel(t, "full size", fullConfig())
	s := sequence{tokens: []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}
	plan := runPlan{chunks: []int{10, 1}, ring: 1033, kv: core.KVFloat32}
	want, wantResidual := m.run(t, judge(t), s, plan)
	got, residual := m.run(t, open(t, standin.Options{}), s, plan)
	t.Logf("logits off by %.1e, residual by %.1e", off(got, want), off(residual, wantResidual))
	if d := max(off(got, want), off(residual, wantResidual)); !(d <= tolerance.model) {
		t.Errorf("off by %.1e", d)
	}
}

func TestSameBitsWhateverChunksRingsAndExpertOrder(t *testing.T) {
	m := newTestModel(t, "bits", smallConfig())
	b := open(t, standin.Options{})
	s := testSequence(&m.w.Config, 150)
	for _, kv := range []core.KVType{core.KVFloat16, core.KVFloat32} {
		want, wantResidual := m.run(t, b, s, runPlan{chunks: []int{150}, ring: 400, kv: kv})
		for _, plan := range []runPlan{
			{chunks: []int{30, 33, 7, 80}, ring: 23 + 80, apart: true},
			{chunks: []int{5, 12, 13, 32, 1, 1, 2, 84}, ring: 23 + 84, reverse: true},
		} {
			plan.kv = kv
			got, residual := m.run(t, b, s, plan)
			wantSameBits(t, fmt.Sprint("logits, plan ", plan), got, want)
			wantSameBits(t, "residual", residual, wantResidual[len(wantResidual)-len(residual):])
		}
	}
}
