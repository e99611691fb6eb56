package metal

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/standin"
	"github.com/fieldfare/fieldfare/residency"
)

func inject(t *testing.T, f standin.Fault) {
	t.Helper()
	t.Cleanup(standin.ClearFaults)
	must(t, standin.Inject(f))
}

// helloGolden is a short prompt.
func helloGolden(t *testing.T) *golden {
	t.Helper()
	goldens := readGoldens(t)
	i := slices.IndexFunc(goldens, func(g golden) bool { return g.id == "text-hello" })
	if i < 0 {
		t.Fatal("no golden text-hello")
	}
	return &goldens[i]
}

// What fails on the GPU is an error of the request that met it, with stage and layer; the next request works.
func TestAGPUErrorEndsOneRequest(t *testing.T) {
	rt := loadDemo(t, unpackDemo(t), openStandin(t, standin.Options{}), nil)
	g := helloGolden(t)
	p := g.prepare(t, rt)
	for _, c := range []struct {
		name, label string
		code        standin.Code
		want        error
		stage       string
	}{
		{"a timeout in a layer", "layer 2: attend and route", standin.Timeout, driver.ErrTimeout, "layer 2"},
		{"memory that the system cannot keep", "layer 1: shared", standin.OutOfMemory, driver.ErrOutOfMemory, "layer 1: shared"},
		{"a page fault among experts", "layer 3: routed", standin.PageFault, driver.ErrPageFault, "layer 3: routed"},
		{"a lost device at the head", "head", standin.DeviceRemoved, driver.ErrDeviceLost, "head"},
		{"a failure without a name", "layer 0: attend", standin.Internal, driver.ErrExecution, "layer 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inject(t, standin.Fault{Label: c.label, Count: 1, Code: c.code})
			s, err := rt.NewSession()
			must(t, err)
			defer closed(t, s)
			_, err = s.Prefill(t.Context(), p, nil)
			var stage *core.StageError
			if !errors.Is(err, c.want) || !errors.As(err, &stage) || !strings.Contains(err.Error(), c.stage) {
				t.Errorf("got %v, want %v of %s", err, c.want, c.stage)
			}
			if got := ask(t, rt, p, 100); !slices.Equal(got.ids, g.GreedyIDs) {
				t.Errorf("the next answer is %v, want %v", got.ids, g.GreedyIDs)
			}
		})
	}
}

// A slot is filled again only when the work that reads it is over, however late the GPU is.
func TestSlotsBelongToQueuedWork(t *testing.T) {
	rt := loadDemo(t, unpackDemo(t), openStandin(t, standin.Options{}), func(o *core.Options) {
		o.Experts = residency.Options{Slots: 4, Poison: true}
	})
	g := helloGolden(t)
	p := g.prepare(t, rt)
	want := ask(t, rt, p, 4)
	inject(t, standin.Fault{Label: "routed", Delay: 3 * time.Millisecond})
	inject(t, standin.Fault{Label: "shared", Delay: time.Millisecond})
	got := ask(t, rt, p, 4)
	wantSameBits(t, "logits with a late GPU", got.logits, want.logits)
	if !slices.Equal(got.ids, want.ids) {
		t.Errorf("answer %v, want %v", got.ids, want.ids)
	}
}

// Ten thousand command buffers later no object is left but those that were there before.
func TestCommandBuffersLeakNothing(t *testing.T) {
	m := newTestModel(t, "leaks", leakConfig())
	b := openStandin(t, standin.Options{Unguarded: true})
	before := standin.Live("")
	e, err := b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1})
	must(t, err)
	c, err := e.NewCache(core.CacheSpec{MaxContext: 4096, Ring: 64})
	must(t, err)
	s := sequence{tokens: make([]int32, 4096)}
	logits, steady := make([]float32, m.w.Config.Vocab), 0
	pos := 0
	for ; b.Stats().CommandBuffers < 10_000; pos++ {
		batch := s.batch(pos, 1)
		m.forward(t, e, c, batch, runPlan{apart: true})
		must(t, e.Head(batch, []int{0}, logits))
		if pos == 300 {
			steady = standin.Live("")
		}
	}
	if live := standin.Live(""); live > steady+inFlight {
		t.Errorf("%d objects live after %d tokens, %d after 300", live, pos, steady)
	}
	must(t, c.Close())
	must(t, e.Close())
	if live := standin.Live(""); live > before+kernelObjects {
		t.Errorf("%d objects live after closing, %d before", live, before)
	}
}

// inFlight bounds by how much two counts may differ: a command buffer may be over but not yet released. A leak of one
// object a token would be hundreds.
const inFlight = 8

// kernelObjects bounds what a backend keeps: libraries, pipelines, labels.
const kernelObjects = 80

// leakConfig is as small as a model can be: two layers of one head.
func leakConfig() core.Config {
	c := smallConfig()
	c.Hidden, c.SharedWidth, c.Heads, c.Experts, c.TopK, c.Vocab = 64, 64, 1, 8, 6, 8
	c.Layers = []core.LayerConfig{{KVHeads: 1, HeadDim: 64}, {KVHeads: 1, HeadDim: 64}}
	return c
}

// A decode step waits once a layer and once for the head, and allocates next to nothing.
func TestADecodeStepIsCounted(t *testing.T) {
	m := newTestModel(t, "count", smallConfig())
	b := openStandin(t, standin.Options{Unguarded: true})
	e, err := b.NewExecutor(m.w, core.ExecutorOptions{MaxRows: 1})
	must(t, err)
	defer closed(t, e)
	c, err := e.NewCache(core.CacheSpec{MaxContext: 256, Ring: 256})
	must(t, err)
	defer closed(t, c)
	s := sequence{tokens: make([]int32, 256)}
	logits, pos := make([]float32, m.w.Config.Vocab), 0
	step := func() {
		batch := s.batch(pos, 1)
		m.forward(t, e, c, batch, runPlan{})
		must(t, e.Head(batch, []int{0}, logits))
		pos++
	}
	step()
	before := b.Stats()
	step()
	got := b.Stats().Sub(before)
	layers := len(m.w.Layers)
	// Per layer: attend and route, shared, routed; the last tail and the head.
	if want := (Stats{CommandBuffers: 3*layers + 2, Dispatches: 1 + 16*layers + 2, Waits: layers + 1}); got.CommandBuffers != want.CommandBuffers ||
		got.Dispatches != want.Dispatches || got.Waits != want.Waits {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.WaitTime <= 0 || got.GPUTime <= 0 {
		t.Errorf("no time is counted: %+v", got)
	}
}
