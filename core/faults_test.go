package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// Cancelled at every stage of every layer, in prefill and in decode: the error is the context's, and the session
// goes on with the bits of one that was never disturbed.
func TestCancelAnywhereLeavesAWorkingSession(t *testing.T) {
	m := newTinyModel(21)
	stages := 2 * (2 + 6*len(m.Config.Layers)) // rough: enough to pass the end of the run
	var hook func()
	rt := m.load(t, func(o *core.Options) {
		o.Backend = refBackend{fault: func(string, int) error {
			if hook != nil {
				hook()
			}
			return nil
		}}
	})
	p := randomPrompt(1, 40, 150)
	p.Turns = []int{30}
	want := cold(t, rt, p)
	for at := range stages {
		s := newSession(t, rt)
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		hook = func() {
			if n++; n == at {
				cancel()
			}
		}
		out, err := s.Prefill(ctx, p, nil)
		if err == nil {
			_, err = s.Generate(ctx, core.GenerateOptions{IgnoreEOS: true, MaxTokens: 30}, func(core.Token) error { return nil })
		}
		hook = nil
		cancel()
		if at > 0 && err != context.Canceled {
			t.Fatalf("cancelled at call %d: %v, want the context's error as it is", at, err)
		}
		if held := s.Tokens(); held < out.Computed {
			t.Errorf("cancelled at call %d: the session holds %d tokens, %d were computed", at, held, out.Computed)
		}
		again := prefill(t, s, p)
		if again.Reuse.Tokens < min(30, out.Computed) {
			t.Errorf("cancelled at call %d: computed %d, then %v", at, out.Computed, again.Reuse)
		}
		sameBits(t, fmt.Sprintf("after a cancel at call %d", at), s.Logits(), want)
		s.Close()
	}
}

func TestFailingStageIsNamed(t *testing.T) {
	m := newTinyModel(22)
	broken := errors.New("device lost")
	for _, stage := range []string{"embed", "attend", "route", "shared", "routed", "tail", "head"} {
		armed := false
		rt := m.load(t, func(o *core.Options) {
			o.Backend = refBackend{fault: func(s string, layer int) error {
				if armed && s == stage && (layer == 1 || layer < 0) {
					return broken
				}
				return nil
			}}
		})
		s := newSession(t, rt)
		p := randomPrompt(1, 20, 150)
		armed = true
		_, err := s.Prefill(t.Context(), p, nil)
		var at *core.StageError
		if !errors.As(err, &at) || !errors.Is(err, broken) || at.Stage.String() != stage {
			t.Fatalf("%s: %v", stage, err)
		}
		if want := -1; stage != "embed" && stage != "head" {
			want = 1
			if at.Layer != gturbo.LayerID(want) || !strings.Contains(err.Error(), "layer 1: "+stage) {
				t.Errorf("%s: %v", stage, err)
			}
		}
		armed = false
		prefill(t, s, p)
		sameBits(t, stage, s.Logits(), cold(t, rt, p))
	}
}

func TestNonFiniteValuesNameTheirStage(t *testing.T) {
	m := newTinyModel(23)
	for _, c := range []struct {
		stage, want string
		layer       int
	}{
		{"embed", "embed", -1}, {"attend", "layer 2: attend", 2}, {"shared", "layer 1: tail", 1},
		{"tail", "layer 0: tail", 0}, {"head", "head", -1},
	} {
		armed := false
		rt := m.load(t, func(o *core.Options) {
			o.Backend = refBackend{spoil: func(s string, layer int) bool {
				return armed && s == c.stage && layer == c.layer
			}}
		})
		s := newSession(t, rt)
		p := randomPrompt(1, 20, 150)
		prefill(t, s, p)
		emitted := 0
		_, err := s.Generate(t.Context(), core.GenerateOptions{IgnoreEOS: true}, func(core.Token) error {
			emitted++
			armed = emitted == 3
			return nil
		})
		if !errors.Is(err, core.ErrNonFinite) || !strings.HasPrefix(err.Error(), c.want+" at position 22") {
			t.Errorf("%s: %v, want %q", c.stage, err, c.want)
		}
		if s.Tokens() != 0 {
			t.Errorf("%s: a spoiled session still holds %d tokens", c.stage, s.Tokens())
		}
		armed = false
		prefill(t, s, p)
		sameBits(t, c.stage, s.Logits(), cold(t, rt, p))
	}
}

// A flakySource fails reads on request.
type flakySource struct {
	*tinyModel
	mu   sync.Mutex
	fail error
}

func (f *flakySource) OpenLayer(l gturbo.LayerID) (residency.File, error) {
	file, err := f.tinyModel.OpenLayer(l)
	return &flakyFile{file, f}, err
}

type flakyFile struct {
	residency.File
	src *flakySource
}

func (f *flakyFile) ReadAt(b []byte, off int64) (int, error) {
	f.src.mu.Lock()
	defer f.src.mu.Unlock()
	if f.src.fail != nil {
		return 0, f.src.fail
	}
	return f.File.ReadAt(b, off)
}

func TestFailingReadNamesLayerAndExpert(t *testing.T) {
	src := &flakySource{tinyModel: newTinyModel(24)}
	opts := core.Options{Backend: refBackend{}, KV: core.KVFloat32, MaxContext: 100, PrefillChunk: 16}
	rt, err := core.NewRuntime(t.Context(), src.Weights, src, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	s := newSession(t, rt)
	p := randomPrompt(1, 20, 150)
	src.fail = io.ErrUnexpectedEOF
	_, err = s.Prefill(t.Context(), p, nil)
	if !errors.Is(err, residency.ErrRead) || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "layer 0: routed") {
		t.Errorf("%v", err)
	}
	src.mu.Lock()
	src.fail = nil
	src.mu.Unlock()
	prefill(t, s, p)
	sameBits(t, "logits", s.Logits(), cold(t, rt, p))
}

func TestEmitErrorsEndTheRun(t *testing.T) {
	m := newTinyModel(25)
	rt := m.load(t, nil)
	s := newSession(t, rt)
	p := randomPrompt(1, 20, 150)
	prefill(t, s, p)
	res, err := s.Generate(t.Context(), core.GenerateOptions{IgnoreEOS: true}, func(tok core.Token) error {
		if tok.Index == 4 {
			return fmt.Errorf("a stop string: %w", core.ErrStop)
		}
		return nil
	})
	if err != nil || res.Finish != core.FinishCaller || res.Tokens != 5 || res.StopID != -1 {
		t.Errorf("%+v, %v", res, err)
	}
	prefill(t, s, p)
	gone := errors.New("the client left")
	if res, err = s.Generate(t.Context(), core.GenerateOptions{IgnoreEOS: true}, func(core.Token) error { return gone }); err != gone {
		t.Errorf("%v, want emit's own error", err)
	}
	if _, err := s.Generate(t.Context(), core.GenerateOptions{}, nil); !errors.Is(err, core.ErrNoPrompt) {
		t.Errorf("generate twice: %v, want ErrNoPrompt", err)
	}
}

func TestGenerateEnds(t *testing.T) {
	m := newTinyModel(26)
	rt := m.load(t, func(o *core.Options) { o.MaxContext = 40 })
	s := newSession(t, rt)
	p := randomPrompt(1, 30, 150)
	prefill(t, s, p)
	first, _ := generate(t, s, 8)
	none := func(core.Token) error { return nil }
	for _, c := range []struct {
		name   string
		opts   core.GenerateOptions
		finish core.Finish
		tokens int
		stop   int32
	}{
		{"at a stop id", core.GenerateOptions{IgnoreEOS: true, Stop: []int32{first[3]}}, core.FinishStop, slices.Index(first, first[3]), first[3]},
		{"at the length", core.GenerateOptions{IgnoreEOS: true, MaxTokens: 6}, core.FinishLength, 6, -1},
		// 30 positions of prompt, 10 more of output, and the last token that needs no position
		{"at the end of the context", core.GenerateOptions{IgnoreEOS: true}, core.FinishContext, 11, -1},
	} {
		prefill(t, s, p)
		res, err := s.Generate(t.Context(), c.opts, none)
		if err != nil || res.Finish != c.finish || res.Tokens != c.tokens || res.StopID != c.stop {
			t.Errorf("%s: %+v, %v", c.name, res, err)
		}
	}
}

func TestPromptsThatDoNotFitAreRefusedWithNumbers(t *testing.T) {
	m := newTinyModel(27)
	rt := m.load(t, func(o *core.Options) { o.MaxContext = 40 })
	s := newSession(t, rt)
	kept := randomPrompt(1, 40, 150)
	prefill(t, s, kept)
	var tooLong *core.ContextError
	_, err := s.Prefill(t.Context(), randomPrompt(2, 41, 150), nil)
	if !errors.As(err, &tooLong) || tooLong.Prompt != 41 || tooLong.Context != 40 || !errors.Is(err, core.ErrContextLength) {
		t.Errorf("%v, want a ContextError", err)
	}
	if s.Tokens() != 40 {
		t.Errorf("the refused prompt changed the session: it holds %d tokens", s.Tokens())
	}
	for _, bad := range [][]int32{{3, -1}, {3, 150}} {
		if _, err := s.Prefill(t.Context(), &core.Prompt{Tokens: bad}, nil); !errors.Is(err, core.ErrToken) {
			t.Errorf("ids %v: %v, want ErrToken", bad, err)
		}
	}
	if _, err := s.Prefill(t.Context(), &core.Prompt{}, nil); !errors.Is(err, core.ErrNoPrompt) {
		t.Errorf("an empty prompt: %v, want ErrNoPrompt", err)
	}
}

// Several goroutines with a session each, some of which leave: every answer is that of a quiet runtime.
func TestSessionsTakeTurns(t *testing.T) {
	m := newTinyModel(28)
	rt := m.load(t, nil)
	prompts := make([]*core.Prompt, 4)
	want := make([][]float32, len(prompts))
	for i := range prompts {
		prompts[i] = randomPrompt(uint64(i), 20+i, 150)
		want[i] = cold(t, rt, prompts[i])
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	var wg sync.WaitGroup
	for worker := range prompts {
		s := newSession(t, rt)
		wg.Go(func() {
			for round := range 6 {
				i := (worker + round) % len(prompts)
				if round%3 == 1 {
					if _, err := s.Prefill(gone, prompts[i], nil); err != context.Canceled {
						t.Errorf("a cancelled call gave %v", err)
					}
					continue
				}
				if _, err := s.Prefill(t.Context(), prompts[i], nil); err != nil {
					t.Error(err)
					return
				}
				sameBits(t, "logits", s.Logits(), want[i])
				rt.Stats()
				rt.Memory()
				s.Shared(prompts[(i+1)%len(prompts)])
			}
		})
	}
	wg.Wait()
}

func TestClosedIsClosed(t *testing.T) {
	m := newTinyModel(29)
	rt := m.load(t, nil)
	s, other := newSession(t, rt), newSession(t, rt)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prefill(t.Context(), randomPrompt(1, 5, 150), nil); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a closed session: %v, want ErrClosed", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Prefill(t.Context(), randomPrompt(1, 5, 150), nil); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a session of a closed runtime: %v, want ErrClosed", err)
	}
	if _, err := rt.NewSession(); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a new session of a closed runtime: %v, want ErrClosed", err)
	}
	if err := other.Close(); err != nil {
		t.Errorf("closing a session after its runtime: %v", err)
	}
}
