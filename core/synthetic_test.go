package core_test

import (
	"flag"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/gturbo/synth"
	"github.com/fieldfare/fieldfare/testdata"
)

var fullInstall = flag.String("full", "", "an install by `fieldfare dev synth`, 14.3 GB, to compare with its goldens")

// A syntheticGolden is the reference's run of a synthetic model: a random network, which amplifies rounding, so the
// reference says by how much.
type syntheticGolden struct {
	Moved    float64 `json:"moved_by_1e-6"` // how far the logits move when the embeddings do by a relative 1e-6
	InputIDs []int32 `json:"input_ids"`
	Layers   []struct {
		First, Last []float64
		StdLast     float64 `json:"std_last"`
	}
	Router    []goldenRouting `json:"router_last"`
	GreedyIDs []int32         `json:"greedy_ids"`
}

// installThin generates the model through the installer.
func installThin(t testing.TB) string {
	t.Helper()
	words, err := fs.Sub(testdata.Demo(), "tokenizer")
	if err != nil {
		t.Fatal(err)
	}
	src, err := synth.New(synth.Options{Config: synth.Thin(), Tokenizer: words})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "thin.gturbo")
	opts := install.Options{Source: src, Output: path, AllowUnknown: true, Reserve: 1}
	if _, err := install.Install(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	return path
}

// Twelve layers, 40 experts of three groups, a shared expert of five, odd layers 2-byte aligned, a window of 96.
func TestThinGoldens(t *testing.T) {
	compareSynthetic(t, installThin(t), "thin-short", "thin-long")
}

// The shapes of the 26B.
func TestFullGolden(t *testing.T) {
	if *fullInstall == "" {
		t.Skip("-full names the install to run")
	}
	compareSynthetic(t, *fullInstall, "full-short")
}

func compareSynthetic(t *testing.T, path string, ids ...string) {
	rt := loadInstall(t, path, func(o *core.Options) {
		o.Backend, o.KV, o.MaxContext = cpuBackend(t, cpu.Options{Float32: true}), core.KVFloat32, 512
	})
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			var g syntheticGolden
			readJSON(t, "../testdata/goldens/"+id+".json", &g)
			want := readNpy(t, "../testdata/goldens/"+id+".logits.npy")
			s := newSession(t, rt)
			defer s.Close()
			w := watch(t, rt)
			prefill(t, s, &core.Prompt{Tokens: g.InputIDs})
			w.stop()
			off := 0.0
			for i, v := range s.Logits() {
				off = max(off, math.Abs(float64(v)-float64(want[i])))
			}
			t.Logf("logits off by %.1e, the reference moves by %.1e", off, g.Moved)
			if !(off <= 10*g.Moved) {
				t.Errorf("logits off by %.1e, want at most ten times %.1e", off, g.Moved)
			}
			for l := range g.Layers {
				h := &w.hidden[l+1]
				for i := range g.Layers[l].First {
					if d := math.Abs(float64(h.first[i]) - g.Layers[l].First[i]); d > 1e-3 {
						t.Errorf("layer %d: first row: %v, want %v", l, h.first[i], g.Layers[l].First[i])
					}
					if d := math.Abs(float64(h.last[i]) - g.Layers[l].Last[i]); d > 1e-3 {
						t.Errorf("layer %d: last row: %v, want %v", l, h.last[i], g.Layers[l].Last[i])
					}
				}
				got := slices.Sorted(slices.Values(w.routing[gturbo.LayerID(l)]["last"].Experts))
				if want := slices.Sorted(slices.Values(g.Router[l].Experts)); !slices.Equal(got, want) {
					t.Errorf("layer %d: experts %v, want %v", l, got, want)
				}
				sameRouting(t, fmt.Sprintf("layer %d: router", l), w.routing[l]["last"], g.Router[l])
			}
			if ids, _ := generate(t, s, len(g.GreedyIDs)); !slices.Equal(ids, g.GreedyIDs) {
				t.Errorf("greedy ids %v, want %v", ids, g.GreedyIDs)
			}
		})
	}
}
