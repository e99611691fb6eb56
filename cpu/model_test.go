package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// randomModel has every kind of layer, awkward group counts (3, 5, 11) and a window that rings wrap around.
func randomModel(name string) refModel {
	r := seeded(name)
	const d, shared, width = 192, 320, 64
	sliding := core.LayerConfig{KVHeads: 2, HeadDim: 64}
	full := core.LayerConfig{Full: true, KVHeads: 1, HeadDim: 128, ValueFromKey: true}
	c := core.Config{
		Hidden: d, Layers: []core.LayerConfig{sliding, sliding, full, sliding, sliding, full}, Heads: 4, Window: 24,
		SharedWidth: shared, ExpertWidth: width, Experts: 9, TopK: 3, Vocab: 99, RMSNormEps: 1e-6, LogitSoftcap: 30,
		EmbedScale: 13.875, MaxPositions: 4096, RopeTheta: 1e4, FullRopeTheta: 1e6, FullRotary: 16,
	}
	m := refModel{w: &core.Weights{Config: c, Embed: randomAffine(r, c.Vocab, d, 4), Norm: randomVector(r, d, 6, 1)}}
	for _, lc := range c.Layers {
		l := core.LayerWeights{
			Query: randomAffine(r, c.Heads*lc.HeadDim, d, 4), Key: randomAffine(r, lc.KVHeads*lc.HeadDim, d, 4),
			Output: randomAffine(r, d, c.Heads*lc.HeadDim, 4), QueryNorm: randomVector(r, lc.HeadDim, 0.4, 0.1),
			KeyNorm: randomVector(r, lc.HeadDim, 0.4, 0.1), Router: randomAffine(r, c.Experts, d, 8),
			RouterScale: randomVector(r, d, 10, 1), PerExpertScale: randomVector(r, c.Experts, 1, 0.2),
			Gate: randomAffine(r, shared, d, 4), Up: randomAffine(r, shared, d, 4), Down: randomAffine(r, d, shared, 4),
			Scalar: 0.75,
		}
		if !lc.ValueFromKey {
			l.Value = randomAffine(r, lc.KVHeads*lc.HeadDim, d, 4)
		}
		for _, v := range []*core.Vector{&l.InputNorm, &l.PostAttentionNorm, &l.PreSharedNorm, &l.PreRoutedNorm,
			&l.PostSharedNorm, &l.PostRoutedNorm, &l.PostFFNNorm} {
			*v = randomVector(r, d, 1, 0.2)
		}
		m.w.Layers = append(m.w.Layers, l)
		var blobs [][]byte
		for range c.Experts {
			blobs = append(blobs, m.randomExpert(r))
		}
		m.blobs = append(m.blobs, blobs)
	}
	return m
}

// randomExpert lays three matrices out in one blob; the layout is the same for all.
func (m refModel) randomExpert(r *rand.Rand) []byte {
	c := &m.w.Config
	var blob []byte
	place := func(w core.Affine) core.AffineRange {
		at := core.AffineRange{Out: w.Out, In: w.In, Bits: w.Bits, Codes: len(blob)}
		blob = append(blob, w.Codes...)
		at.Scales = len(blob)
		blob = append(blob, w.Scales...)
		at.Biases = len(blob)
		blob = append(blob, w.Biases...)
		return at
	}
	x := &m.w.Expert
	x.Gate = place(randomAffine(r, c.ExpertWidth, c.Hidden, 4))
	x.Up = place(randomAffine(r, c.ExpertWidth, c.Hidden, 4))
	x.Down = place(randomAffine(r, c.Hidden, c.ExpertWidth, 4))
	x.Stride = len(blob)
	return blob
}

// A runPlan says how a sequence goes through an executor.
type runPlan struct {
	kernels string
	threads int
	chunks  []int // rows of each chunk
	ring    int
	kv      core.KVType
	reverse bool // experts in descending order
}

// run returns the logits of every position, [T*V], and the residual stream of the last chunk.
func (m refModel) run(t *testing.T, s refSequence, plan runPlan) (logits, residual []float32) {
	t.Helper()
	b, err := New(Options{Threads: plan.threads, Kernels: plan.kernels})
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: slices.Max(plan.chunks), KV: plan.kv})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, e)
	c, err := e.NewCache(core.CacheSpec{MaxContext: len(s.tokens), Ring: plan.ring})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, c)
	pos := 0
	for _, n := range plan.chunks {
		batch := s.batch(pos, n)
		m.forward(t, e, c, batch, plan.reverse)
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

func (s refSequence) batch(pos, n int) *core.Batch {
	b := &core.Batch{Tokens: s.tokens[pos : pos+n], Pos: pos}
	for row := range n {
		end := pos + row + 1
		b.FullEnd = append(b.FullEnd, end)
		for _, span := range s.spans {
			if end > span[0] && end <= span[1] {
				end = span[1]
			}
		}
		b.SlidingEnd = append(b.SlidingEnd, end)
		if soft, ok := s.soft[pos+row]; ok {
			b.Soft = append(b.Soft, core.SoftRow{Row: row, Data: soft})
		}
	}
	return b
}

// forward walks the stages as the forward program does.
func (m refModel) forward(t *testing.T, e core.Executor, c core.Cache, b *core.Batch, reverse bool) {
	t.Helper()
	must(t, e.Embed(b))
	k := m.w.Config.TopK
	for l := range m.w.Layers {
		layer := gturbo.LayerID(l)
		must(t, e.Attend(layer, b, c))
		routing, err := e.Route(layer, b)
		must(t, err)
		must(t, e.Shared(layer, b))
		left := len(routing.Experts) // a batch of one row chooses each once
		var fences []residency.Fence
		for i := range m.w.Config.Experts {
			id := i
			if reverse {
				id = m.w.Config.Experts - 1 - i
			}
			run := core.ExpertRun{Expert: gturbo.ExpertID(id), Bytes: m.blobs[l][id]}
			for j, chosen := range routing.Experts {
				if int(chosen) == id {
					run.Picks = append(run.Picks, core.Pick{Row: int32(j / k), Rank: int32(j % k)})
				}
			}
			if len(run.Picks) > 0 {
				run.More = len(b.Tokens) == 1 && left > 1 && !reverse
				fence, err := e.Routed(layer, b, run)
				must(t, err)
				if fence != nil && (!run.More || fence.Passed()) {
					t.Errorf("expert %d: a fence with more to come %v, passed %v", id, run.More, fence.Passed())
				}
				if fence != nil {
					fences = append(fences, fence)
				}
				left--
			}
		}
		for _, f := range fences {
			f.Wait()
		}
		must(t, e.Tail(layer, b))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func closed(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
