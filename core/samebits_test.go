package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/residency"
)

// longPrompt is the first n ids of the golden that has most.
func longPrompt(t testing.TB, n int) *core.Prompt {
	t.Helper()
	for _, g := range textGoldens(t) {
		if g.ID == "text-long-recall" {
			return &core.Prompt{Tokens: g.InputIDs[:n]}
		}
	}
	t.Fatal("no long golden")
	return nil
}

// The promise that greedy output depends on nothing but the prompt: every logit of 64 tokens after a prompt of 300,
// compared by bits, with the kernels that users get. With -short, every fourth setting.
func TestSameBits(t *testing.T) {
	const tokens = 64
	p := longPrompt(t, 300)
	var ids []int32
	var want [][]float32
	for _, slots := range []int{8, 16, 32} {
		for _, policy := range []residency.Policy{residency.LFU, residency.LRU} {
			for i, chunk := range []int{1, 7, 32, 128} {
				if testing.Short() && i != (slots/8+int(policy))%4 {
					continue
				}
				rt := loadDemo(t, func(o *core.Options) {
					o.Experts.Slots, o.Experts.Policy, o.PrefillChunk, o.MaxContext = slots, policy, chunk, 400
				})
				for _, prefix := range []int{0, 177} {
					name := fmt.Sprintf("%d slots %v chunk %d prefix %d", slots, policy, chunk, prefix)
					s := newSession(t, rt)
					if prefix > 0 {
						prefill(t, s, &core.Prompt{Tokens: p.Tokens[:prefix]})
						generate(t, s, 1)
					}
					if out := prefill(t, s, p); out.Reuse.Tokens != prefix {
						t.Fatalf("%s: %v", name, out.Reuse)
					}
					gotIDs, got := generate(t, s, tokens)
					if want == nil {
						ids, want = gotIDs, got
					}
					if !slices.Equal(gotIDs, ids) {
						t.Fatalf("%s: tokens %v, want %v", name, gotIDs, ids)
					}
					for i := range want {
						sameBits(t, fmt.Sprintf("%s token %d", name, i), got[i], want[i])
					}
					s.Close()
				}
				rt.Close()
			}
		}
	}
}

// Nor on where the experts' bytes lie, how many threads compute, or whether slots come and go.
func TestSameBitsWhereverExpertsLie(t *testing.T) {
	p := longPrompt(t, 100)
	run := func(change func(*core.Options), between func(*core.Runtime)) []float32 {
		rt := loadDemo(t, change)
		defer rt.Close()
		s := newSession(t, rt)
		prefill(t, s, p)
		var all []float32
		_, err := s.Generate(t.Context(), core.GenerateOptions{MaxTokens: 12, IgnoreEOS: true}, func(core.Token) error {
			all = append(all, s.Logits()...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if between != nil {
			between(rt)
			all = append(all, cold(t, rt, p)...)
		}
		return all
	}
	want := run(nil, nil)
	for name, change := range map[string]func(*core.Options){
		"mapped":      func(o *core.Options) { o.Experts.Mapped = true },
		"poisoned":    func(o *core.Options) { o.Experts.Poison = true },
		"two slots":   func(o *core.Options) { o.Experts.Slots = 2 },
		"one read":    func(o *core.Options) { o.Experts.Reads = 1 },
		"one thread":  func(o *core.Options) { o.Backend = cpuBackend(t, cpu.Options{Threads: 1}) },
		"six threads": func(o *core.Options) { o.Backend = cpuBackend(t, cpu.Options{Threads: 6}) },
	} {
		sameBits(t, name, run(change, nil), want)
	}
	released := run(nil, func(rt *core.Runtime) {
		if err := rt.ReleaseExperts(); err != nil {
			t.Error(err)
		}
	})
	sameBits(t, "before a release", released[:len(want)], want)
	sameBits(t, "after a release", released[len(want):], want[:len(released)-len(want)])
}
