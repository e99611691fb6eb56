package core_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/residency"
	"github.com/fieldfare/fieldfare/text"
)

func TestBindWeightsReadsTheDemo(t *testing.T) {
	rt := loadDemo(t, nil)
	cfg := rt.Config()
	if cfg.Hidden != 256 || len(cfg.Layers) != 6 || cfg.Heads != 4 || cfg.Window != 64 || cfg.Experts != 32 ||
		cfg.TopK != 4 || cfg.Vocab != 4096 || cfg.SharedWidth != 256 || cfg.ExpertWidth != 64 || cfg.FullRotary != 16 ||
		cfg.EmbedScale != 16 || cfg.RMSNormEps != 1e-6 || cfg.LogitSoftcap != 30 || cfg.MaxPositions != 131072 ||
		cfg.RopeTheta != 1e4 || cfg.FullRopeTheta != 1e6 || len(cfg.EOS) != 3 {
		t.Errorf("configuration %+v", cfg)
	}
	for l, lc := range cfg.Layers {
		want := core.LayerConfig{KVHeads: 2, HeadDim: 64}
		if l == 5 {
			want = core.LayerConfig{Full: true, KVHeads: 1, HeadDim: 128, ValueFromKey: true}
		}
		if lc != want {
			t.Errorf("layer %d: %+v, want %+v", l, lc, want)
		}
	}
	w := rt.Weights()
	for l := range w.Layers {
		lw := &w.Layers[l]
		for name, view := range map[string][]byte{
			"q_proj": lw.Query.Codes, "down_proj": lw.Down.Scales, "router": lw.Router.Codes, "input norm": lw.InputNorm,
		} {
			if !inside(w.Region, view) {
				t.Errorf("layer %d: %s is no view of the mapping", l, name)
			}
		}
		if lw.Scalar == 0 || lw.Router.Bits != 8 || lw.Query.Bits != 4 || (lw.Value.Out == 0) != cfg.Layers[l].ValueFromKey {
			t.Errorf("layer %d: scalar %v, bits %d and %d, value rows %d", l, lw.Scalar, lw.Router.Bits, lw.Query.Bits, lw.Value.Out)
		}
	}
	if tmpl, notice := rt.Template(); tmpl != text.T4 || notice != "" {
		t.Errorf("template %v, notice %q", tmpl, notice)
	}
	if rt.Install().Manifest().ModelID == "" {
		t.Error("the install has no model id")
	}
}

// The factor is sqrt(2816) rounded to bf16 for the 26B, exactly 53.
func TestEmbeddingFactorIsRoundedToBF16(t *testing.T) {
	for hidden, want := range map[int]float32{2816: 53, 256: 16, 512: 22.625} {
		if got := core.NewConfig(&gturbo.SourceConfig{Arch: gturbo.Arch{HiddenSize: hidden}}).EmbedScale; got != want {
			t.Errorf("hidden size %d: %v, want %v", hidden, got, want)
		}
	}
}

func inside(region, view []byte) bool {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(region)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(view)))
	return len(view) > 0 && at >= lo && at+uintptr(len(view)) <= lo+uintptr(len(region))
}

func TestOptionsReportEveryProblem(t *testing.T) {
	o := core.Options{
		KV: 7, MaxContext: -1, PrefillChunk: 5000, MaxSpan: -2, SpanMask: 9,
		Experts: residency.Options{Slots: 1000, Reads: -1},
	}
	err := o.Validate()
	if !errors.Is(err, core.ErrOptions) || !errors.Is(err, residency.ErrOptions) {
		t.Fatalf("%v", err)
	}
	for _, word := range []string{"backend", "KV type 7", "-1 positions", "5000 rows", "-2 soft tokens", "mask 9", "1000"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("no word of %q in: %v", word, err)
		}
	}
	if _, err := core.Load(t.Context(), demoPath, o); !errors.Is(err, core.ErrOptions) {
		t.Errorf("Load gave %v", err)
	}
}

func TestLoadRefusesWhatItCannotRun(t *testing.T) {
	before := pages.Outstanding()
	m := newTinyModel(31)
	opts := core.Options{Backend: refBackend{}, KV: core.KVFloat32}
	opts.MaxContext = m.Config.MaxPositions + 1
	if _, err := core.NewRuntime(t.Context(), m.Weights, m, opts); !errors.Is(err, core.ErrOptions) ||
		!strings.Contains(err.Error(), "4096") {
		t.Errorf("a context beyond the model's: %v", err)
	}
	opts.MaxContext, opts.KV = 100, core.KVFloat16
	x := &pictures{maxSpan: 20}
	opts.Extensions = []core.Extension{x}
	if _, err := core.NewRuntime(t.Context(), m.Weights, m, opts); err == nil || !strings.Contains(err.Error(), "reference") {
		t.Errorf("a backend that fails: %v", err)
	}
	if x.closed != 1 {
		t.Errorf("the extension was closed %d times", x.closed)
	}

	opts = core.Options{Backend: refBackend{}, KV: core.KVFloat32}
	missing := filepath.Join(t.TempDir(), "nothing.gturbo")
	if _, err := core.Load(t.Context(), missing, opts); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no install: %v", err)
	}
	damaged := filepath.Join(t.TempDir(), "demo.gturbo")
	if err := os.CopyFS(damaged, os.DirFS(demoPath)); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(damaged, gturbo.WeightsFile)
	data, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(weights, data, 0o644); err != nil {
		t.Fatal(err)
	}
	var damage *gturbo.DamageError
	if _, err := core.Load(t.Context(), damaged, opts); !errors.As(err, &damage) {
		t.Errorf("damaged weights: %v, want a DamageError", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := core.Load(cancelled, demoPath, opts); err != context.Canceled {
		t.Errorf("a cancelled load: %v", err)
	}
	if got := pages.Outstanding(); got != before {
		t.Errorf("%d regions are still mapped, %d were before", got, before)
	}
}

func TestCloseGivesEverythingBack(t *testing.T) {
	before := pages.Outstanding()
	rt := loadDemo(t, nil)
	s := newSession(t, rt)
	p := longPrompt(t, 100)
	p.Turns = []int{50}
	prefill(t, s, p)
	generate(t, s, 100)
	newSession(t, rt)
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if got := pages.Outstanding(); got != before {
		t.Errorf("%d regions are still mapped, %d were before", got, before)
	}
	if err := rt.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestStagesAddUpToTheWhole(t *testing.T) {
	rt := loadDemo(t, nil)
	s := newSession(t, rt)
	start := rt.Stats()
	out := prefill(t, s, longPrompt(t, 300))
	d := rt.Stats().Sub(start)
	if d.Rows != 300 || d.Passes != 3 {
		t.Errorf("%d rows in %d passes, want 300 in 3", d.Rows, d.Passes)
	}
	if total := d.Stages.Total(); total > out.Duration || total < out.Duration*9/10 {
		t.Errorf("stages %v add up to %v of %v", d.Stages, total, out.Duration)
	}
	for stage, spent := range d.Stages {
		if spent < 0 || spent == 0 && core.Stage(stage) != core.StageReadWait {
			t.Errorf("%v took %v", core.Stage(stage), spent)
		}
	}
	if d.Experts.Misses == 0 || d.Experts.Fetches != 18 {
		t.Errorf("expert counts %+v", d.Experts)
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	m := newTinyModel(32)
	rt := m.load(t, func(o *core.Options) { o.Extensions = []core.Extension{&pictures{maxSpan: 20}} })
	s := newSession(t, rt)
	p := picturePrompt(1, 20, []byte{10, 1}, []byte{10, 2})
	var seen []core.Progress
	if _, err := s.Prefill(t.Context(), p, func(x core.Progress) { seen = append(seen, x) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 5 || seen[0] != (core.Progress{Phase: core.PhaseEncode, Done: 1, Total: 2}) {
		t.Fatalf("reports %v", seen)
	}
	for i, x := range seen[2:] {
		if x.Phase != core.PhasePrefill || x.Total != len(p.Tokens) || i > 0 && x.Done <= seen[1+i].Done {
			t.Errorf("reports %v", seen)
		}
	}
	if last := seen[len(seen)-1]; last.Done != last.Total {
		t.Errorf("the last report is %v", last)
	}
}
