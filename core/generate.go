package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// GenerateOptions says how a session goes on from its prompt. The zero value decodes greedily until the model ends
// its turn or the context is full.
type GenerateOptions struct {
	Sampling Sampling
	// MaxTokens bounds the output; 0 means until the context is full.
	MaxTokens int
	// Stop holds ids that end the output besides Config.EOS.
	Stop []int32
	// IgnoreEOS goes on past Config.EOS: for benchmarks and tests of length.
	IgnoreEOS bool
	// Logprobs asks for the log-probability of each token and of the TopLogprobs likeliest ones, at most 100.
	Logprobs    bool
	TopLogprobs int
}

// Validate reports every problem; the error wraps ErrOptions.
func (o *GenerateOptions) Validate(vocab int) error {
	problems := []error{o.Sampling.Validate(vocab)}
	if o.MaxTokens < 0 {
		problems = append(problems, fmt.Errorf("%w: at most %d tokens of output", ErrOptions, o.MaxTokens))
	}
	if o.TopLogprobs < 0 || o.TopLogprobs > 100 {
		problems = append(problems, fmt.Errorf("%w: top log-probabilities %d is outside [0, 100]", ErrOptions, o.TopLogprobs))
	}
	if o.TopLogprobs > 0 && !o.Logprobs {
		problems = append(problems, fmt.Errorf("%w: top log-probabilities without log-probabilities", ErrOptions))
	}
	return errors.Join(problems...)
}

// A Token is one generated token.
type Token struct {
	ID    int32
	Index int // 0 for the first of this output
	// Logprob and Top are set when GenerateOptions asks for them. Top is valid during emit only.
	Logprob float64
	Top     []TokenLogprob
}

// Finish is the reason why an output ended.
type Finish int

const (
	FinishStop    Finish = iota // the model chose a stop id, Result.StopID
	FinishLength                // MaxTokens
	FinishContext               // no position left
	FinishCaller                // emit returned ErrStop
)

var finishes = [...]string{"stop", "length", "context full", "stopped by caller"}

func (f Finish) String() string { return finishes[f] }

// Result is the account of one Generate.
type Result struct {
	Finish   Finish
	StopID   int32         // the id that ended the output, -1 unless FinishStop
	Tokens   int           // emitted; the stop id is not
	First    time.Duration // from the call to the first token
	Duration time.Duration // the whole call, emit included
	Decode   time.Duration // in the model
}

// Generate continues from the last Prefill and calls emit with each token, on this goroutine, while the next one has
// not begun. The stop id is not emitted. emit ends the output without an error by returning ErrStop; another error
// is returned as it is.
//
// When ctx ends the run, ctx's error is returned with what was counted so far; the session keeps prompt and output
// up to then and takes another Prefill. Going on after any end works the same way: Prefill with the longer prompt,
// which reuses everything.
func (s *Session) Generate(ctx context.Context, opts GenerateOptions, emit func(Token) error) (Result, error) {
	res := Result{StopID: -1}
	if err := opts.Validate(s.rt.cfg.Vocab); err != nil {
		return res, err
	}
	if err := s.begin(ctx); err != nil {
		return res, err
	}
	defer s.rt.yield()
	if !s.ready {
		return res, fmt.Errorf("generate: %w", ErrNoPrompt)
	}
	s.ready = false // the logits are used up: the first token may be emitted and not be in the cache
	start := time.Now()
	err := s.generate(ctx, &opts, emit, &res)
	res.Duration = time.Since(start)
	return res, err
}

func (s *Session) generate(ctx context.Context, o *GenerateOptions, emit func(Token) error, res *Result) error {
	start := time.Now()
	sampler := newSampler(o.Sampling, s.rt.cfg.Vocab, s.tokens)
	t := Token{Top: make([]TokenLogprob, 0, o.TopLogprobs)}
	for {
		t.ID, t.Index = sampler.sample(s.logits, res.Tokens), res.Tokens
		if s.stops(o, t.ID) {
			res.Finish, res.StopID = FinishStop, t.ID
			return nil
		}
		if o.Logprobs {
			sampler.logprobs(&t, s.logits, o.TopLogprobs)
		}
		if res.Tokens++; res.Tokens == 1 {
			res.First = time.Since(start)
		}
		switch err := emit(t); {
		case errors.Is(err, ErrStop):
			res.Finish = FinishCaller
			return nil
		case err != nil:
			return err
		case res.Tokens == o.MaxTokens:
			res.Finish = FinishLength
			return nil
		case len(s.tokens) == s.rt.opts.MaxContext:
			res.Finish = FinishContext
			return nil
		}
		sampler.accept(t.ID)
		if err := s.decode(ctx, t.ID, res); err != nil {
			return err
		}
	}
}

// decode runs one token, which gives the logits of the next.
func (s *Session) decode(ctx context.Context, id int32, res *Result) error {
	begin := time.Now()
	s.batch.fillToken(id, len(s.tokens))
	err := s.run(ctx, true)
	s.ready = false
	res.Decode += time.Since(begin)
	return err
}

func (s *Session) stops(o *GenerateOptions, id int32) bool {
	return !o.IgnoreEOS && slices.Contains(s.rt.cfg.EOS, id) || slices.Contains(o.Stop, id)
}
