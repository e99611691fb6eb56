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
