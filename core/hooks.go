package core

import (
	"context"
	"fmt"
	"time"
)

// A Media is one attachment of a request, in the order of its placeholders in the rendered conversation.
type Media struct {
	Name   string // for messages: a file name, "image 2"
	Data   []byte // encoded bytes
	Budget int    // most soft tokens; 0 means the extension's default
}

// A Span is the half-open range [Lo, Hi) of positions that one Media's soft tokens take.
type Span struct {
	Lo, Hi int
	Media  int      // index into the request's media
	Digest [32]byte // identity of the picture and how it was prepared: equal digests mean equal rows
}

// Admission is an extension's word on one Media before any costly work.
type Admission struct {
	SoftTokens int
	Digest     [32]byte
	// Before and After are the ids around the soft tokens, Soft the id of each soft token.
	Before, Soft, After int32
	// Report is what the user is told about it, marshalled to JSON as it is.
	Report any
}

// AdmitFunc judges one attachment from header bytes alone, before tokens are laid out. Called once per media of a
// request by Runtime.Prepare, on its goroutine, with no lock held: several may run at once.
type AdmitFunc func(ctx context.Context, m Media) (Admission, error)

// EncodeFunc makes the soft tokens of attachments: one slice per media, [SoftTokens, D], which the session reads
// until its Prefill returns. Called at most once per Prefill, after every media was admitted and the prompt fits,
// with those media whose rows are not reused from the session. It runs on the session's goroutine at a quiet point
// of the runtime's turn: nothing is queued on the backend, and Runtime.ReleaseExperts may be called. progress counts
// in units of the extension's choice.
type EncodeFunc func(ctx context.Context, media []Media, progress func(done, total int)) ([][]float32, error)

// Hooks are the places where an extension attaches to a Runtime, from its Init. All are owner hooks: at most one
// extension sets each, a second Set panics. Unset, a request with attachments is refused with ErrNoMedia.
type Hooks struct {
	admit   AdmitFunc
	encode  EncodeFunc
	maxSpan int
}

// SetAdmit and SetEncode set the hooks; a second call is a BUG.
func (h *Hooks) SetAdmit(f AdmitFunc) {
	if h.admit != nil {
		panic("BUG: core: the admit hook has two owners")
	}
	h.admit = f
}

func (h *Hooks) SetEncode(f EncodeFunc) {
	if h.encode != nil {
		panic("BUG: core: the encode hook has two owners")
	}
	h.encode = f
}

// NeedSpan asks for chunk scratch and rings that take spans of n soft tokens; the largest wish counts.
func (h *Hooks) NeedSpan(n int) { h.maxSpan = max(h.maxSpan, n) }

// encode returns the rows of each of p's spans from position from on; entries of reused spans are nil.
func (r *Runtime) encode(ctx context.Context, p *Prompt, from int, progress func(Progress)) (soft [][]float32, took time.Duration, err error) {
	var media []Media
	var which []int
	for i, s := range p.Spans {
		if s.Lo >= from {
			media, which = append(media, p.Media[s.Media]), append(which, i)
		}
	}
	if len(media) == 0 {
		return nil, 0, nil
	}
	if r.hooks.encode == nil {
		return nil, 0, fmt.Errorf("%d attachments: %w", len(media), ErrNoMedia)
	}
	start := time.Now()
	r.quiet.Store(true)
	rows, err := r.hooks.encode(ctx, media, func(done, total int) {
		progress(Progress{PhaseEncode, done, total})
	})
	r.quiet.Store(false)
	took = time.Since(start)
	if err != nil {
		return nil, took, fmt.Errorf("encode attachments: %w", err)
	}
	if len(rows) != len(media) {
		panic("BUG: core: the encode hook returned rows of another number of attachments")
	}
	soft = make([][]float32, len(p.Spans))
	for i, at := range which {
		if want := (p.Spans[at].Hi - p.Spans[at].Lo) * r.cfg.Hidden; len(rows[i]) != want {
			panic("BUG: core: the encode hook returned rows of another size than it admitted")
		}
		soft[at] = rows[i]
	}
	return soft, took, nil
}
