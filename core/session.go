package core

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Session is one sequence: a KV cache and the account of what it holds. Several may exist on one Runtime; they run
// one at a time. Methods of one Session are called by one goroutine at a time, except that cancelling a context is
// always fine and leaves a session that works.
type Session struct {
	rt     *Runtime
	cache  Cache
	tokens []int32 // positions whose keys and values the cache holds
	spans  []Span  // the spans among them
	rw     rewinder
	batch  Batch

	logits []float32 // [V], of the last position; meaningful while ready
	ready  bool
	closed bool
}

// NewSession makes a session with an empty cache of the runtime's context length.
func (r *Runtime) NewSession() (*Session, error) {
	if err := r.acquire(context.Background()); err != nil {
		return nil, err
	}
	defer r.yield()
	spec := CacheSpec{MaxContext: r.opts.MaxContext, Ring: min(r.cfg.Window-1+r.maxRows, r.opts.MaxContext)}
	cache, err := r.exec.NewCache(spec)
	if err != nil {
		return nil, fmt.Errorf("allocate the KV cache for %d positions: %w", spec.MaxContext, err)
	}
	s := &Session{rt: r, cache: cache, logits: make([]float32, r.cfg.Vocab)}
	s.rw = rewinder{
		ring:  ring{window: r.cfg.Window, rows: spec.Ring},
		store: newRowStore(r.cfg, cache, r.opts.RewindBytes),
	}
	r.sessions.add(s)
	return s, nil
}

// Prefilled is the account of one Prefill.
type Prefilled struct {
	Prompt   int // tokens of the prompt
	Reuse    Reuse
	Computed int // tokens run through the model, also when it was broken off
	Encode   time.Duration
	Duration time.Duration // everything, Encode included
}

// Prefill makes the session hold p and computes the logits that follow it. What the session shares with p is kept:
// the longest common prefix by token ids and, at attachments, digests, as far as the sliding layers can be taken
// back; the account says how far and why. Output bits do not depend on what was reused.
//
// progress, unless nil, is called on this goroutine: while attachments are encoded, then at the start of the tokens
// and after each chunk. A prompt that does not fit is refused with a ContextError before anything changes. When ctx ends
// the run, ctx's error is returned and what was computed stays for a later Prefill.
func (s *Session) Prefill(ctx context.Context, p *Prompt, progress func(Progress)) (Prefilled, error) {
	if err := s.begin(ctx); err != nil {
		return Prefilled{}, err
	}
	defer s.rt.yield()
	start := time.Now()
	out, err := s.prefill(ctx, p, progress)
	out.Duration = time.Since(start)
	return out, err
}

// begin waits for the runtime's turn.
func (s *Session) begin(ctx context.Context) error {
	if err := s.rt.acquire(ctx); err != nil {
		return err
	}
	if s.closed {
		s.rt.yield()
		return fmt.Errorf("session: %w", ErrClosed)
	}
	return nil
}

func (s *Session) prefill(ctx context.Context, p *Prompt, progress func(Progress)) (Prefilled, error) {
	out := Prefilled{Prompt: len(p.Tokens)}
	if err := p.check(s.rt.cfg.Vocab, s.rt.maxRows, s.rt.opts.MaxContext); err != nil {
		return out, err
	}
	s.ready = false
	out.Reuse = s.resume(p)
	if progress == nil {
		progress = func(Progress) {}
	}
	soft, took, err := s.rt.encode(ctx, p, out.Reuse.Tokens, progress)
	out.Encode = took
	if err != nil {
		return out, err
	}
	s.rw.mark(worthKeeping(p.Turns), len(s.tokens))
	progress(Progress{PhasePrefill, len(s.tokens), len(p.Tokens)})
	for len(s.tokens) < len(p.Tokens) {
		lo := len(s.tokens)
		hi := nextChunk(p.Spans, lo, len(p.Tokens), s.rt.opts.PrefillChunk)
		s.batch.fill(p, lo, hi, s.rt.opts.SpanMask, soft, s.rt.cfg.Hidden)
		if err := s.run(ctx, hi == len(p.Tokens)); err != nil {
			return out, err
		}
		for _, span := range p.Spans {
			if lo <= span.Lo && span.Hi <= hi {
				s.spans = append(s.spans, span)
			}
		}
		out.Computed += hi - lo
		progress(Progress{PhasePrefill, hi, len(p.Tokens)})
	}
	return out, nil
}

// resume takes the session back to what it can reuse for p.
func (s *Session) resume(p *Prompt) Reuse {
	r := s.Shared(p)
	s.truncate(r.Tokens)
	return r
}

// truncate forgets everything from position n on, which the rewinder reaches.
func (s *Session) truncate(n int) {
	s.rw.rewind(n)
	s.tokens = s.tokens[:n]
	s.spans = slices.DeleteFunc(s.spans, func(sp Span) bool { return sp.Hi > n })
}

// run sends the batch through the model and takes its tokens into the session. With head, the last row's logits are
// computed and checked.
func (s *Session) run(ctx context.Context, head bool) error {
	b := &s.batch
	end := b.Pos + len(b.Tokens)
	if s.rw.loses(end) {
		if err := s.rt.exec.Drain(); err != nil {
			return fmt.Errorf("save rows before position %d: %w", b.Pos, err)
		}
	}
	s.rw.write(end)
	last := [1]int{len(b.Tokens) - 1}
	rows := last[:0]
	if head {
		rows = last[:]
	}
	if err := s.rt.prog.forward(ctx, b, s.cache, rows, s.logits); err != nil {
		return err
	}
	if head && !finite(s.logits) {
		err := s.rt.prog.locate(ctx, b, s.cache)
		s.truncate(0) // the cache may be what is spoiled
		return err
	}
	s.tokens = append(s.tokens, b.Tokens...)
	s.ready = head
	return nil
}

// worthKeeping picks the turn starts to keep reachable, most important first: the turn that the answer belongs to,
// where the next prompt of the conversation parts from this one because thoughts leave the history, then the one
// before it, where an edited question does.
func worthKeeping(turns []int) []int {
	out := []int{}
	for i := len(turns) - 1; i >= 0 && len(out) < 2; i-- {
		out = append(out, turns[i])
	}
	return out
}

// Tokens returns how many positions the session holds.
func (s *Session) Tokens() int { return len(s.tokens) }

// Shared returns how many leading tokens of p the session holds and could go on from, without changing anything:
// for choosing among sessions. It may be called while another session runs, not while this one does.
func (s *Session) Shared(p *Prompt) Reuse {
	r := commonPrefix(s.tokens, s.spans, p)
	r.Tokens = s.rw.best(r.Common)
	if r.Tokens < r.Common {
		r.End, r.Position = ReuseRewind, r.Tokens
	}
	return r
}

// Logits returns the softcapped logits, [V], of the last position that was run with its head: after Prefill those
// that choose the first token, during Generate's emit those that chose the token. Valid until the next call.
func (s *Session) Logits() []float32 { return s.logits }

// SizeBytes is the memory that the session holds outside the Go heap.
func (s *Session) SizeBytes() int64 { return s.cache.SizeBytes() + s.rw.store.sizeBytes() }

// Reset empties the session and gives back the rows that it saved.
func (s *Session) Reset() error {
	if err := s.begin(context.Background()); err != nil {
		return err
	}
	defer s.rt.yield()
	s.ready = false
	s.truncate(0)
	return s.rw.store.release()
}

// Close gives the session's memory back. A second Close does nothing.
func (s *Session) Close() error {
	if s.rt.acquire(context.Background()) != nil {
		return nil // the runtime is closed, and closed its sessions
	}
	defer s.rt.yield()
	return s.close()
}

func (s *Session) close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.rt.sessions.remove(s)
	err := s.rw.store.release()
	if e := s.cache.Close(); err == nil {
		err = e
	}
	return err
}
