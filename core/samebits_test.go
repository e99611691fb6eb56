package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
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
// compared by bits.
func TestSameBits(t *testing.T) {
	const tokens = 64
	p := longPrompt(t, 300)
	var ids []int32
	var want [][]float32
	for _, slots := range []int{8, 16, 32} {
		for _, policy := range []residency.Policy{residency.LFU, residency.LRU} {
			for _, chunk := range []int{1, 7, 32, 128} {
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
