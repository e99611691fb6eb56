package cpu

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

// bf16Loss is what the reference loses by its own run in bfloat16 on the texts below: nat a token. A kernel set that
// rounds activations may be the default only if it stays within that.
const bf16Loss = 1.8e-4

// lossBounds is what each way of rounding may cost: nat a token, and the share of greedy choices that differ.
var lossBounds = map[string]struct{ nats, differ float64 }{
	"int16": {bf16Loss / 1000, 0},
	"int8":  {bf16Loss / 3, 0.03}, // 4e-6 on all texts, 4e-5 on the one of short runs
}

// demoModel is the trained model that comes with the sources. The random models of the other tests amplify rounding and
// are no judges here.
func demoModel(t *testing.T) refModel {
	t.Helper()
	in, err := gturbo.Open(t.Context(), "../testdata/demo.gturbo", gturbo.OpenOptions{})
	must(t, err)
	t.Cleanup(func() { closed(t, in) })
	w, err := core.BindWeights(in)
	must(t, err)
	m := refModel{w: w, blobs: make([][][]byte, len(w.Layers))}
	for l := range w.Layers {
		f, err := in.OpenLayer(gturbo.LayerID(l))
		must(t, err)
		defer closed(t, f)
		for e := range w.Config.Experts {
			blob := make([]byte, w.Expert.Stride)
			_, err := f.ReadAt(blob, in.ExpertOffset(gturbo.LayerID(l), gturbo.ExpertID(e)))
			if err != io.EOF {
				must(t, err)
			}
			m.blobs[l] = append(m.blobs[l], blob)
		}
	}
	return m
}

// goldenTexts are prompts with the reference's answers.
func goldenTexts(t *testing.T) (texts []refSequence) {
	t.Helper()
	files, err := filepath.Glob("../testdata/goldens/text-*.json")
	must(t, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		must(t, err)
		var g struct {
			InputIDs  []int32 `json:"input_ids"`
			GreedyIDs []int32 `json:"greedy_ids"`
		}
		must(t, json.Unmarshal(data, &g))
		texts = append(texts, refSequence{tokens: append(g.InputIDs, g.GreedyIDs...)})
	}
	if len(texts) == 0 {
		t.Fatal("no texts in ../testdata/goldens")
	}
	if testing.Short() { // under emulation
		return texts[:1]
	}
	return texts
}

// logProbabilities normalizes one row of logits.
func logProbabilities(logits []float32) []float64 {
	top := float64(plainMaximum(logits))
	var sum float64
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	p := make([]float64, len(logits))
	for i, v := range logits {
		p[i] = float64(v) - top - math.Log(sum)
	}
	return p
}

func best(p []float64) int {
	b := 0
	for i, v := range p {
		if v > p[b] {
			b = i
		}
	}
	return b
}

// A loss compares logits with better ones, token by token.
type loss struct {
	divergence float64 // KL, sum over tokens
	gaps       float64 // where greedy choices differ: how much likelier the better logits hold their own
	tokens     int
	differ     int
}

func (l *loss) add(want, got []float32, vocabulary int) {
	for at := 0; at < len(got); at += vocabulary {
		p, q := logProbabilities(want[at:][:vocabulary]), logProbabilities(got[at:][:vocabulary])
		for j := range p {
			l.divergence += math.Exp(p[j]) * (p[j] - q[j])
		}
		l.tokens++
		if best(p) != best(q) {
			l.differ++
			l.gaps += p[best(p)] - p[best(q)]
		}
	}
}

// TestRoundingStaysWithinWhatBfloat16Loses compares each set that rounds activations with the fastest that does not:
// KL divergence and greedy choices.
func TestRoundingStaysWithinWhatBfloat16Loses(t *testing.T) {
	m := demoModel(t)
	run := func(k *kernelSet, s refSequence) []float32 {
		n := len(s.tokens)
		logits, _ := m.run(t, s, runPlan{kernels: k.name, chunks: []int{n}, ring: n, kv: core.KVFloat32})
		return logits
	}
	texts := goldenTexts(t)
	var want [][]float32
	for _, s := range texts {
		want = append(want, run(fastest(false), s))
	}
	eachSetBy(t, affineOf, func(t *testing.T, k *kernelSet) {
		if !k.rounds {
			return
		}
		var l loss
		for i, s := range texts {
			l.add(want[i], run(k, s), m.w.Config.Vocab)
		}
		bound, tokens := lossBounds[rounding(k)], float64(l.tokens)
		t.Logf("%.2e nat a token; %d of %d greedy choices differ, by %.4f nat on average",
			l.divergence/tokens, l.differ, l.tokens, l.gaps/max(float64(l.differ), 1))
		if l.divergence/tokens > bound.nats || float64(l.differ)/tokens > bound.differ {
			t.Errorf("allowed are %.2e nat a token and %.2f of the greedy choices", bound.nats, bound.differ)
		}
	})
}
