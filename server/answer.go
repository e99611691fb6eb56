package server

import (
	"context"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/text"
)

// A job is one answer, from the request to the account of it.
type job struct {
	server  *Server
	model   *model
	prompt  *core.Prompt
	opts    core.AnswerOptions
	raw     bool // a raw completion: what the model writes is text, whatever it looks like
	oneCall bool // the answer ends behind the first tool call
	notes   []string
	started time.Time
	ticket  *ticket
}

// A voice hears an answer as it comes, on the goroutine that computes it. It must not block.
type voice interface {
	progress(openai.Progress)
	// say gets everything that the model writes; tokens are those of a visible text whose log-probabilities were
	// asked for.
	say(e text.Event, tokens []openai.TokenLogprob)
}

// An account is what is known after an answer.
type account struct {
	core.Answer
	stats     core.Stats // between start and end
	queued    time.Duration
	first     time.Duration // from the request to the first token
	reasoning int           // tokens of thought
}

// newJob takes a place in the queue for an answer to prompt.
func (s *Server) newJob(m *model, prompt *core.Prompt, rq *openai.Common, started time.Time) (*job, error) {
	if !rq.Seeded {
		rq.Generate.Sampling.Seed = s.opts.NewSeed()
	}
	ticket, err := s.queue.enter()
	if err != nil {
		return nil, err
	}
	return &job{
		server: s, model: m, prompt: prompt, notes: rq.Notes, started: started, ticket: ticket,
		opts: core.AnswerOptions{Generate: rq.Generate, Stop: rq.Stop},
	}, nil
}

// run waits for the turn and answers. Whatever ends it, the turn is given on, and what was computed stays in the
// conversation for a retry.
func (j *job) run(ctx context.Context, v voice) (account, error) {
	defer j.ticket.leave()
	var a account
	err := j.wait(ctx, v)
	a.queued = time.Since(j.started)
	j.server.metrics.queued(a.queued)
	if err != nil {
		return a, err
	}
	session, err := j.model.conversations.take(j.prompt)
	if err != nil {
		return a, err
	}
	defer j.model.conversations.put(session)
	start, before := time.Now(), j.model.rt.Stats()
	t := newTally(j.model.rt.Tokenizer(), &j.opts.Generate)
	j.opts.Token = func(k core.Token) {
		if k.Index == 0 {
			a.first = time.Since(j.started)
		}
		t.token(k)
	}
	j.opts.Progress = j.follow(v)
	emit := func(e text.Event, _ core.Token) error {
		v.say(e, t.event(e.Kind))
		if j.oneCall && e.Kind == text.EventCallEnd {
			return core.ErrStop
		}
		return nil
	}
	if j.raw {
		a.Answer, err = answerRaw(ctx, session.Session, j, emit)
	} else {
		a.Answer, err = session.Answer(ctx, j.prompt, j.opts, emit)
	}
	a.stats, a.reasoning = j.model.rt.Stats().Sub(before), t.reasoning
	j.server.metrics.answered(&a)
	if err == nil {
		j.server.pace.learn(a.Answer, j.encodedTokens(a.Prefilled.Reuse.Tokens), time.Since(start))
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return a, err
}

// wait waits for the turn and says once a second how many are before it.
func (j *job) wait(ctx context.Context, v voice) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if at := j.ticket.position(); at > 0 {
			v.progress(openai.Progress{Phase: "queue", Position: at, Total: len(j.prompt.Tokens)})
		}
		select {
		case <-j.ticket.turn:
			return j.ticket.wait(ctx)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// encodedTokens counts the soft tokens from position from on: those that have to be encoded when the rest is reused.
func (j *job) encodedTokens(from int) int {
	n := 0
	for _, span := range j.prompt.Spans {
		if span.Lo >= from {
			n += span.Hi - span.Lo
		}
	}
	return n
}

// answerRaw is Session.Answer for a raw completion: everything is visible text.
func answerRaw(
	ctx context.Context, s *core.Session, j *job, emit func(text.Event, core.Token) error,
) (a core.Answer, err error) {
	if a.Prefilled, err = s.Prefill(ctx, j.prompt, j.opts.Progress); err != nil {
		return a, err
	}
	decoder, stopper := text.NewDecoder(j.model.rt.Tokenizer()), text.NewStopper(j.opts.Stop)
	show := func(str string, t core.Token) error {
		if str == "" {
			return nil
		}
		return emit(text.Event{Kind: text.EventText, Text: str}, t)
	}
	var last core.Token
	push := func(str string) error {
		str, a.StopString = stopper.Push(str)
		if err := show(str, last); err != nil {
			return err
		}
		if a.StopString {
			return core.ErrStop
		}
		return nil
	}
	a.Result, err = s.Generate(ctx, j.opts.Generate, func(t core.Token) error {
		last = t
		j.opts.Token(t)
		return push(decoder.Push(t.ID))
	})
	if !a.StopString {
		if push(decoder.Flush()) == nil {
			_ = show(stopper.Flush(), last)
		}
	}
	a.Finish = text.FinishStop
	if f := a.Result.Finish; !a.StopString && (f == core.FinishLength || f == core.FinishContext) {
		a.Finish = text.FinishLength
	}
	return a, err
}
