package core

import (
	"context"

	"github.com/fieldfare/fieldfare/residency"
)

// NewRuntime lets external tests bring their own weights and expert bytes.
func NewRuntime(ctx context.Context, w *Weights, src residency.Source, opts Options) (*Runtime, error) {
	return newRuntime(ctx, w, src, opts, nil, chat{turn: -1})
}

// Draw, SelectTop and the sampler are tested from outside with the packages that a test may import.
var (
	Draw      = draw
	SelectTop = selectTop
)

// Marks returns the positions that a session keeps reachable, and how many rows it has saved for them.
func (s *Session) Marks() (marks []int, rows int) { return s.rw.marks, len(s.rw.store.entry) }

// Sampler is a sampler for tests of its rules.
type Sampler struct{ s *sampler }

// NewSampler makes one with the prompt in its history.
func NewSampler(o Sampling, vocab int, prompt []int32) Sampler {
	return Sampler{newSampler(o, vocab, prompt)}
}

func (s Sampler) Sample(logits []float32, index int) int32 { return s.s.sample(logits, index) }
func (s Sampler) Accept(id int32)                          { s.s.accept(id) }
func (s Sampler) Logprobs(t *Token, logits []float32, n int) {
	s.s.logprobs(t, logits, n)
}

// NewConfig is the configuration that a checkpoint's gives.
var NewConfig = newConfig
