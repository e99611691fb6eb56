package core_test

import (
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
)

// prefill runs p and fails the test on an error.
func prefill(t testing.TB, s *core.Session, p *core.Prompt) core.Prefilled {
	t.Helper()
	out, err := s.Prefill(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// generate returns n tokens and the logits that chose each.
func generate(t testing.TB, s *core.Session, n int) (ids []int32, logits [][]float32) {
	t.Helper()
	_, err := s.Generate(t.Context(), core.GenerateOptions{MaxTokens: n, IgnoreEOS: true}, func(tok core.Token) error {
		ids = append(ids, tok.ID)
		logits = append(logits, slices.Clone(s.Logits()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, logits
}

func TestForwardEqualsTheWholeModelAtOnce(t *testing.T) {
	m := newTinyModel(1)
	p := randomPrompt(1, 40, m.Config.Vocab)
	ref := runWhole(m, p.Tokens, nil, nil)
	for _, chunk := range []int{1, 2, 7, 16, 40, 128} {
		rt := m.load(t, func(o *core.Options) { o.PrefillChunk = chunk })
		experts := make([][]gturbo.ExpertID, len(m.Config.Layers))
		remove, err := rt.Observe(&core.Observer{
			Residual: func(l gturbo.LayerID, b *core.Batch, x []float32) {
				for row := range b.Tokens {
					want := ref.residual[l+1][b.Pos+row]
					if d := relative(x[row*len(want):][:len(want)], want); d > 1e-5 {
						t.Errorf("chunk %d: layer %d position %d: residual off by %.1e", chunk, l, b.Pos+row, d)
					}
				}
			},
			Route: func(l gturbo.LayerID, b *core.Batch, r core.Routing) { experts[l] = append(experts[l], r.Experts...) },
		})
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t, rt)
		prefill(t, s, p)
		if d := relative(s.Logits(), ref.logits(39)); d > 1e-5 {
			t.Errorf("chunk %d: logits off by %.1e", chunk, d)
		}
		for l := range experts {
			if want := slices.Concat(ref.experts[l]...); !slices.Equal(experts[l], want) {
				t.Errorf("chunk %d: layer %d: experts %v, want %v", chunk, l, experts[l], want)
			}
		}
		remove()
	}
}
