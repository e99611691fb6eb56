package core

import (
	"context"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// A program runs the forward pass on one executor. It keeps no sequence: the batch says which positions it is for
// and the cache holds what came before. One goroutine at a time.
type program struct {
	cfg       *Config
	exec      Executor
	experts   *residency.Streamer
	observers observers
	lookahead lookahead

	times     StageTimes
	published published
	pass      pass // of the forward that is running
	grouping  grouping
	residual  []float32 // [N, D] for observers and checks, allocated by the first that asks
}

// A pass is one walk over the stages.
type pass struct {
	ctx     context.Context
	batch   *Batch
	cache   Cache
	fetch   *residency.Fetch // experts asked for by route, taken by routed
	checked bool             // look for non-finite values after each stage
	since   time.Time        // end of the last timed stage
}

// forward runs the chunk b on cache c. The head runs for the listed rows and fills logits, [len(rows), V].
//
// It stops between stages, or while it waits for an expert, when ctx is done, and then returns ctx's error; another
// failure is a StageError. After any error the chunk's rows in c are undefined and nothing is queued any more.
func (p *program) forward(ctx context.Context, b *Batch, c Cache, rows []int, logits []float32) error {
	return p.run(pass{ctx: ctx, batch: b, cache: c}, rows, logits)
}

func (p *program) run(as pass, rows []int, logits []float32) error {
	p.pass = as
	p.lookahead.reset()
	w := &p.pass
	err := p.walk(w, rows, logits)
	p.published.store(p.times, &p.lookahead, len(w.batch.Tokens))
	if err == nil {
		return nil
	}
	p.exec.Drain() // the first error is the one that matters
	if w.fetch != nil {
		w.fetch.Close() // after the drain: no slot is given back that queued work still reads
	}
	if ctxErr := w.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return err
}

func (p *program) walk(w *pass, rows []int, logits []float32) error {
	w.since = time.Now()
	if err := p.end(w, StageEmbed, -1, p.embed(w)); err != nil {
		return err
	}
	for i := range p.cfg.Layers {
		l := gturbo.LayerID(i)
		for _, s := range layerStages {
			if err := p.end(w, s.stage, l, s.run(p, l, w)); err != nil {
				return err
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return p.end(w, StageHead, -1, p.exec.Head(w.batch, rows, logits))
}

// end books the time of a stage, gives its error a place, and stops the walk when its context is done.
func (p *program) end(w *pass, s Stage, l gturbo.LayerID, err error) error {
	p.book(w, s)
	if err == nil {
		err = w.ctx.Err()
	}
	if err == nil && w.checked {
		err = p.checkFinite(s, w.batch)
	}
	if err == nil {
		return nil
	}
	return &StageError{Stage: s, Layer: l, Pos: w.batch.Pos, Err: err}
}

// book adds the time since the last call to stage s.
func (p *program) book(w *pass, s Stage) {
	now := time.Now()
	p.times[s] += now.Sub(w.since)
	w.since = now
}

func (p *program) embed(w *pass) error {
	if err := p.exec.Embed(w.batch); err != nil {
		return err
	}
	return p.observeResidual(-1, w.batch)
}

func (p *program) attend(l gturbo.LayerID, w *pass) error { return p.exec.Attend(l, w.batch, w.cache) }

// route asks for the chosen experts' bytes as soon as it knows the choice, so that reads run under the shared stage.
func (p *program) route(l gturbo.LayerID, w *pass) error {
	r, err := p.exec.Route(l, w.batch)
	if err != nil {
		return err
	}
	p.observers.route(l, w.batch, r)
	p.lookahead.judge(l, r.Experts)
	w.fetch, err = p.experts.Fetch(w.ctx, l, p.grouping.group(r, p.cfg.TopK))
	return err
}

func (p *program) shared(l gturbo.LayerID, w *pass) error { return p.exec.Shared(l, w.batch) }

// routed runs the chosen experts in the order in which their bytes are there: those in slots first. The order does
// not reach the output, because each result is kept apart until tail sums them by rank.
func (p *program) routed(l gturbo.LayerID, w *pass) error {
	for {
		if err := p.foretell(l, w.batch); err != nil {
			return err
		}
		p.book(w, StageRouted)
		loaded, ok, err := w.fetch.Next(w.ctx)
		p.book(w, StageReadWait)
		if err != nil {
			return err
		}
		if !ok {
			w.fetch.Close()
			w.fetch = nil
			return nil
		}
		run := ExpertRun{
			Expert: loaded.Expert, Bytes: loaded.Bytes, Picks: p.grouping.picksOf(loaded.Expert), More: w.fetch.Ready(),
		}
		fence, err := p.exec.Routed(l, w.batch, run)
		w.fetch.Done(loaded, fence)
		if err != nil {
			return err
		}
	}
}

func (p *program) tail(l gturbo.LayerID, w *pass) error {
	if err := p.exec.Tail(l, w.batch); err != nil {
		return err
	}
	return p.observeResidual(l, w.batch)
}
