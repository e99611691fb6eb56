package core_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/residency"
)

// A needy extension takes what it is told to, and attaches nothing.
type needy struct{ need core.Need }

func (needy) Name() string                              { return "needy" }
func (needy) Init(context.Context, *core.Runtime) error { return nil }
func (needy) Close() error                              { return nil }
func (n needy) Need(context.Context, string, core.Backend) (core.Need, error) {
	return n.need, nil
}

// What the planner is told before a model is loaded is what the loaded model allocates, byte for byte but for the
// rounding to pages.
func TestSizeAgreesWithTheLoadedModel(t *testing.T) {
	backend := cpuBackend(t, cpu.Options{Threads: 2})
	for _, chunk := range []int{128, 512, 1024} {
		opts := core.Options{Backend: backend, MaxContext: 2048, PrefillChunk: chunk}
		size, err := core.ReadSize(t.Context(), demoPath, opts)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := residency.MakePlan(size.Memory, residency.Wish{Chunk: chunk, Context: 2048})
		if err != nil {
			t.Fatal(err)
		}
		before := pages.Usage()
		rt, err := core.Load(t.Context(), demoPath, opts)
		if err != nil {
			t.Fatal(err)
		}
		s, err := rt.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		after := pages.Usage()
		if digest := rt.Install().ManifestSHA256(); size.Digest != digest {
			t.Errorf("digest %s, want %s", size.Digest, digest)
		}
		for _, c := range []struct{ item, class string }{{"scratch", "scratch"}, {"KV cache", "kv"}, {"shared weights", "weights"}} {
			planned, taken := int64(0), after[c.class]-before[c.class]
			for _, item := range plan.Items {
				if item.Name == c.item {
					planned = item.Bytes
				}
			}
			if taken == 0 || planned < taken-64<<10 || planned > taken+taken/4+64<<10 {
				t.Errorf("chunk %d: %s: planned %d bytes, taken %d", chunk, c.item, planned, taken)
			}
		}
		s.Close()
		rt.Close()
	}
}

func TestExtensionsAddWhatTheyNeed(t *testing.T) {
	opts := core.Options{Backend: refBackend{}, Extensions: []core.Extension{
		needy{core.Need{Span: 300, Kept: 5, Encoding: 7}}, needy{core.Need{Span: 70, Encoding: 1}},
	}}
	size, err := core.ReadSize(t.Context(), demoPath, opts)
	if err != nil {
		t.Fatal(err)
	}
	if m := size.Memory; m.Span != 300 || m.TowerKept != 5 || m.TowerEncoding != 8 || m.Scratch <= 0 || m.ScratchRow <= 0 {
		t.Errorf("%+v", m)
	}
	if _, err := core.ReadSize(t.Context(), t.TempDir(), opts); !errors.Is(err, gturbo.ErrPartial) {
		t.Errorf("an empty folder: %v, want ErrPartial", err)
	}
}

func TestRatesAreMeasuredAndLeaveNothing(t *testing.T) {
	backend := cpuBackend(t, cpu.Options{Threads: 2})
	size, err := core.ReadSize(t.Context(), demoPath, core.Options{Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	before := pages.Outstanding()
	r, err := core.MeasureRates(t.Context(), backend, size)
	if err != nil || r.Weights < 1e5 || r.Rows < 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if left := pages.Outstanding() - before; left != 0 {
		t.Errorf("%d regions left", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := core.MeasureRates(ctx, backend, size); err != context.Canceled {
		t.Errorf("%v, want context.Canceled as it is", err)
	}
}
