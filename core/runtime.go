package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// A Runtime is a loaded model. Sessions run on it one at a time: calls that compute wait for the runtime's turn,
// whose holder alone touches the executor. Everything else may be called from any goroutine.
type Runtime struct {
	opts    Options
	cfg     *Config
	weights *Weights
	maxRows int // of one chunk
	chat    chat

	exec     Executor
	streamer *residency.Streamer
	prog     *program
	hooks    Hooks

	turn     chan struct{} // holds a value while somebody has the turn
	quiet    atomic.Bool   // the holder of the turn runs the encode hook
	sessions sessionSet
	closed   bool // guarded by the turn

	install    *gturbo.Install // nil in tests that bring their own weights
	extensions []ExtensionState
	started    []Extension
}

// newRuntime starts the extensions, then the executor and the streamer on bound weights. in, which may be nil, is
// closed with the runtime.
func newRuntime(
	ctx context.Context, w *Weights, src residency.Source, opts Options, in *gturbo.Install, words chat,
) (*Runtime, error) {
	opts, err := opts.withDefaults(&w.Config)
	if err != nil {
		return nil, err
	}
	r := &Runtime{opts: opts, cfg: &w.Config, weights: w, install: in, chat: words, turn: make(chan struct{}, 1)}
	if err := r.initExtensions(ctx); err != nil {
		return nil, err
	}
	if err := r.start(src); err != nil {
		r.closeExtensions()
		return nil, err
	}
	return r, nil
}

func (r *Runtime) start(src residency.Source) error {
	r.maxRows = min(max(r.opts.PrefillChunk, r.opts.MaxSpan, r.hooks.maxSpan), r.opts.MaxContext)
	dims := residency.Dims{Layers: len(r.cfg.Layers), Experts: r.cfg.Experts, Stride: r.weights.Expert.Stride}
	streamer, err := residency.NewStreamer(src, dims, r.opts.Experts)
	if err != nil {
		return fmt.Errorf("expert streamer: %w", err)
	}
	exec, err := r.opts.Backend.NewExecutor(r.weights, ExecutorOptions{MaxRows: r.maxRows, KV: r.opts.KV})
	if err != nil {
		streamer.Close()
		return fmt.Errorf("backend %s: %w", r.opts.Backend.Name(), err)
	}
	r.streamer, r.exec = streamer, exec
	r.prog = &program{
		cfg: r.cfg, exec: exec, experts: streamer,
		grouping: newGrouping(r.cfg.Experts, r.maxRows, r.cfg.TopK),
	}
	if r.opts.Lookahead {
		r.prog.lookahead.forecaster, _ = exec.(Forecaster)
	}
	return nil
}

// acquire waits for the runtime's turn.
func (r *Runtime) acquire(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		r.yield()
		return err
	}
	if r.closed {
		r.yield()
		return fmt.Errorf("runtime: %w", ErrClosed)
	}
	return nil
}

func (r *Runtime) yield() { <-r.turn }

// Config is the model's configuration. It must not be changed.
func (r *Runtime) Config() *Config { return r.cfg }

// Weights are the views of the resident tensors, valid until Close.
func (r *Runtime) Weights() *Weights { return r.weights }

// Backend is the one that Load was given.
func (r *Runtime) Backend() Backend { return r.opts.Backend }

// Hooks is where an extension attaches, in its Init.
func (r *Runtime) Hooks() *Hooks { return &r.hooks }

// MaxContext is the most positions of a session.
func (r *Runtime) MaxContext() int { return r.opts.MaxContext }

// PrefillChunk is the most rows of a chunk of prompt.
func (r *Runtime) PrefillChunk() int { return r.opts.PrefillChunk }

// Lookahead reports whether the backend guesses the next layer's experts.
func (r *Runtime) Lookahead() bool { return r.prog.lookahead.forecaster != nil }

// MaxSpan is the most soft tokens that one attachment may take.
func (r *Runtime) MaxSpan() int { return r.maxRows }

// Observe lets o watch the forward program from the next call on; remove ends that. It waits for the turn.
func (r *Runtime) Observe(o *Observer) (remove func(), err error) {
	if err := r.acquire(context.Background()); err != nil {
		return nil, err
	}
	defer r.yield()
	r.prog.observers.add(o)
	return func() {
		if r.acquire(context.Background()) == nil {
			r.prog.observers.remove(o)
			r.yield()
		}
	}, nil
}

// ReleaseExperts gives back the descriptors and slots of all layers; they come back as layers are used again. It
// waits for the turn, except inside the encode hook, which has it. Output does not change.
func (r *Runtime) ReleaseExperts() error {
	if !r.quiet.Load() {
		if err := r.acquire(context.Background()); err != nil {
			return err
		}
		defer r.yield()
	}
	if err := r.exec.Drain(); err != nil {
		return err
	}
	if k, ok := r.exec.(ExpertKeeper); ok {
		k.ForgetExperts()
	}
	return r.streamer.Release()
}

// Close ends all sessions and gives everything back. It waits for the turn; a second Close does nothing.
func (r *Runtime) Close() error {
	if err := r.acquire(context.Background()); err != nil {
		return nil // the only reason is that it is closed
	}
	defer r.yield()
	r.closed = true
	problems := []error{r.exec.Drain()}
	for _, s := range r.sessions.all() {
		problems = append(problems, s.close())
	}
	problems = append(problems, r.closeExtensions(), r.exec.Close(), r.streamer.Close())
	if r.install != nil {
		problems = append(problems, r.install.Close())
	}
	return errors.Join(problems...)
}

// A sessionSet holds the open sessions.
type sessionSet struct {
	mu  sync.Mutex
	set map[*Session]struct{}
}

func (s *sessionSet) add(x *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = map[*Session]struct{}{}
	}
	s.set[x] = struct{}{}
}

func (s *sessionSet) remove(x *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.set, x)
}

func (s *sessionSet) all() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Session, 0, len(s.set))
	for x := range s.set {
		out = append(out, x)
	}
	return out
}
