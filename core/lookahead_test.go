package core_test

import (
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
)

// Guessing changes no bit of the output, whatever the slots, and on the demo it is right far more often than chance.
func TestLookaheadChangesNoBit(t *testing.T) {
	var want []float32
	for _, c := range []struct {
		name  string
		ahead bool
		slots int
	}{{"off", false, 8}, {"on", true, 8}, {"on, two slots", true, 2}, {"on, all in slots", true, 128}} {
		rt := loadDemo(t, func(o *core.Options) {
			o.Backend = cpuBackend(t, cpu.Options{Threads: 2})
			o.Lookahead, o.Experts.Slots, o.Experts.Poison = c.ahead, c.slots, true
		})
		s := newSession(t, rt)
		p := randomPrompt(5, 40, rt.Config().Vocab)
		prefill(t, s, p)
		var got []float32
		_, err := s.Generate(t.Context(), core.GenerateOptions{IgnoreEOS: true, MaxTokens: 40}, func(core.Token) error {
			got = append(got, s.Logits()...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		sameBits(t, c.name, got, want)
		st := rt.Stats()
		if !c.ahead {
			if st.Chosen != 0 || st.Experts.Guesses != 0 {
				t.Errorf("%s: %d chosen after a guess, %d guesses", c.name, st.Chosen, st.Experts.Guesses)
			}
			continue
		}
		cfg := rt.Config()
		chance := float64(cfg.TopK) / float64(cfg.Experts)
		recall := float64(st.Foretold) / float64(st.Chosen)
		t.Logf("%s: recall %.2f, chance %.2f, %+v", c.name, recall, chance, st.Experts)
		if !(recall > 1.5*chance) {
			t.Errorf("%s: recall %.2f, chance alone gives %.2f", c.name, recall, chance)
		}
	}
}
