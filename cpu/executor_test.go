package cpu

import (
	"errors"
	"math"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/residency"
)

// testSequence has text, a span of soft tokens shorter than the window and one longer than it.
func testSequence(m refModel, n int) refSequence {
	r := seeded("sequence")
	s := refSequence{soft: map[int][]float32{}, spans: [][2]int{{5, 17}, {30, 62}}}
	for range n {
		s.tokens = append(s.tokens, int32(r.IntN(m.w.Config.Vocab)))
	}
	for _, span := range s.spans {
		for p := span[0]; p < span[1]; p++ {
			s.soft[p] = randomFloats(r, m.w.Config.Hidden, 3)
		}
	}
	return s
}

func TestModelEqualsTheReference(t *testing.T) {
	m := randomModel("model")
	s := testSequence(m, 70)
	want := m.logits(s)
	var top float64
	for _, row := range want {
		for _, v := range row {
			top = max(top, math.Abs(v))
		}
	}
	for _, c := range []struct {
		name   string
		chunks []int
	}{
		{"in one chunk", []int{70}},
		{"in chunks around the spans, then token by token", []int{5, 25, 33, 1, 1, 1, 1, 1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachSetBy(t, affineOf, func(t *testing.T, k *kernelSet) {
				plan := runPlan{kernels: k.name, threads: 2, chunks: c.chunks, ring: 23 + c.chunks[0] + 28, kv: core.KVFloat32}
				got, _ := m.run(t, s, plan)
				v := m.w.Config.Vocab
				for i, g := range got {
					wantNear(t, sized("position ", i/v, " logit ", i%v), g, want[i/v][i%v], top, tolerated("model", k))
				}
			})
		})
	}
}

func TestSameBitsWhateverChunksThreadsRingsAndExpertOrder(t *testing.T) {
	m := randomModel("bits")
	s := testSequence(m, 100)
	eachSetBy(t, affineOf, func(t *testing.T, k *kernelSet) {
		for _, kv := range []core.KVType{core.KVFloat16, core.KVFloat32} {
			want, wantResidual := m.run(t, s, runPlan{kernels: k.name, threads: 1, chunks: []int{100}, ring: 400, kv: kv})
			for _, plan := range []runPlan{
				{threads: 2, chunks: []int{100}, ring: 400, reverse: true},
				{threads: 3, chunks: []int{30, 33, 7, 30}, ring: 23 + 33},
				{threads: 2, chunks: []int{5, 12, 13, 32, 1, 1, 2, 34}, ring: 23 + 34, reverse: true},
			} {
				plan.kernels, plan.kv = k.name, kv
				got, residual := m.run(t, s, plan)
				wantSameBits(t, sized("logits, plan ", plan), got, want)
				tail := len(residual)
				wantSameBits(t, "residual", residual, wantResidual[len(wantResidual)-tail:])
			}
		}
	})
}

// What waits to run together is forgotten when its pass fails, and holds no slot any more.
func TestDrainLetsHeldExpertsGo(t *testing.T) {
	m := randomModel("drain")
	b, err := New(Options{Threads: 2})
	must(t, err)
	e, err := b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1})
	must(t, err)
	defer closed(t, e)
	batch := refSequence{tokens: []int32{3}}.batch(0, 1)
	var fences []residency.Fence
	for rank := range int32(2) {
		f, err := e.Routed(0, batch, core.ExpertRun{Bytes: m.blobs[0][rank], Picks: []core.Pick{{Rank: rank}}, More: true})
		must(t, err)
		if f == nil || f.Passed() {
			t.Fatalf("expert %d with more to come: fence %v, want one that has not passed", rank, f)
		}
		fences = append(fences, f)
	}
	must(t, e.Drain())
	for _, f := range fences {
		f.Wait()
		if !f.Passed() {
			t.Error("a fence has ended, but not passed")
		}
	}
	f, err := e.Routed(0, batch, core.ExpertRun{Bytes: m.blobs[0][2], Picks: []core.Pick{{Rank: 2}}})
	must(t, err)
	if f != nil {
		t.Error("the last expert left a fence")
	}
}

func TestNewExecutorNamesEveryBadMatrix(t *testing.T) {
	m := randomModel("bad")
	m.w.Layers[1].Key.Out++
	m.w.Layers[2].Router.Bits = 3
	m.w.Norm = m.w.Norm[2:]
	b, err := New(Options{})
	must(t, err)
	_, err = b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1})
	if !errors.Is(err, ErrShape) {
		t.Fatalf("got %v, want ErrShape", err)
	}
	for _, part := range []string{"layer 1: k_proj", "layer 2: router.proj", "norm has"} {
		if !containsText(err, part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
}

func TestOptionsReportAllProblems(t *testing.T) {
	_, err := New(Options{Threads: -1, Kernels: "abacus"})
	if !errors.Is(err, ErrKernels) || !containsText(err, "-1 threads") {
		t.Fatalf("got %v", err)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	m := randomModel("alloc")
	b, err := New(Options{Threads: 2})
	must(t, err)
	e, err := b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1})
	must(t, err)
	defer closed(t, e)
	c, err := e.NewCache(core.CacheSpec{MaxContext: 64, Ring: 64})
	must(t, err)
	defer closed(t, c)
	batch := refSequence{tokens: []int32{3}}.batch(0, 1)
	logits, rows := make([]float32, m.w.Config.Vocab), []int{0}
	run := core.ExpertRun{Bytes: m.blobs[0][0], Picks: []core.Pick{{}}}
	allocs := testing.AllocsPerRun(20, func() {
		must(t, e.Embed(batch))
		must(t, e.Attend(2, batch, c))
		_, err := e.Route(2, batch)
		must(t, err)
		must(t, e.Shared(2, batch))
		for rank := range m.w.Config.TopK {
			run.Picks[0].Rank = int32(rank)
			_, err = e.Routed(2, batch, run)
			must(t, err)
		}
		must(t, e.Tail(2, batch))
		must(t, e.Head(batch, rows, logits))
	})
	if allocs != 0 {
		t.Fatalf("%g allocations per token of one layer", allocs)
	}
}

func TestScratchIsAsLargeAsForetold(t *testing.T) {
	m := randomModel("scratch")
	b, err := New(Options{Threads: 3})
	must(t, err)
	for _, rows := range []int{1, 128, 300} {
		opts := core.ExecutorOptions{MaxRows: rows}
		e, err := b.NewExecutor(m.w, opts)
		must(t, err)
		if got, want := b.ScratchBytes(&m.w.Config, opts), int64(len(e.(*executor).mem.region.Bytes())); got != want {
			t.Errorf("%d rows: foretold %d bytes, allocated %d", rows, got, want)
		}
		must(t, e.Close())
	}
}
