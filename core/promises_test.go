package core_test

import (
	"runtime"
	"testing"

	"github.com/fieldfare/fieldfare/core"
)

func TestHeapAfterLoadingStaysSmall(t *testing.T) {
	rt := loadDemo(t, nil)
	s := newSession(t, rt)
	prefill(t, s, longPrompt(t, 200))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	const limit = 32 << 20
	if m.HeapAlloc > limit {
		t.Errorf("%d bytes live on the heap, the promise is %d", m.HeapAlloc, limit)
	}
	for _, class := range []string{"weights", "experts", "kv"} {
		if rt.Memory()[class] == 0 {
			t.Errorf("no memory of class %q outside the heap: %v", class, rt.Memory())
		}
	}
	runtime.KeepAlive(s)
}

// mallocsAt counts heap objects made per token, averaged over blocks of tokens.
func mallocsAt(t *testing.T, s *core.Session, opts core.GenerateOptions, blocks, size int) []float64 {
	t.Helper()
	var counts []float64
	var m runtime.MemStats
	opts.MaxTokens, opts.IgnoreEOS = blocks*size+1, true
	last := uint64(0)
	_, err := s.Generate(t.Context(), opts, func(tok core.Token) error {
		if tok.Index%size == 0 {
			runtime.ReadMemStats(&m)
			if tok.Index > 0 {
				counts = append(counts, float64(m.Mallocs-last)/float64(size))
			}
			last = m.Mallocs
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func TestAllocationsPerTokenAreFlat(t *testing.T) {
	// The streamer makes a handful of objects for each fetch, one fetch a layer; the ring wraps on the way and rows
	// are saved for a mark.
	const mostPerLayer = 16
	rt := loadDemo(t, nil)
	for name, opts := range map[string]core.GenerateOptions{
		"greedy":  {},
		"sampled": {Sampling: core.DefaultSampling(), Logprobs: true, TopLogprobs: 5},
	} {
		s := newSession(t, rt)
		p := longPrompt(t, 100)
		p.Turns = []int{90}
		prefill(t, s, p)
		counts := mallocsAt(t, s, opts, 6, 50)
		t.Logf("%s: %.1f objects per token in blocks of 50", name, counts)
		for _, n := range counts[1:] {
			if n > counts[1]*1.2+2 || n > float64(mostPerLayer*len(rt.Config().Layers)) {
				t.Errorf("%s: %.1f objects per token, not flat or too many", name, counts)
				break
			}
		}
		s.Close()
	}
}
