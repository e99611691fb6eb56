package core

import (
	"context"
	"errors"
	"fmt"
)

// An Extension adds to a Runtime what a build without it lacks, by hooks alone.
type Extension interface {
	// Name identifies the extension in messages, e.g. "vision".
	Name() string
	// Init attaches to r, once, during Load: weights and backend are there, the executor and sessions are not. A
	// failing Init must leave no hook set; it disables the extension, and text works as if it were not there.
	Init(ctx context.Context, r *Runtime) error
	// Close releases what Init took. Called once if Init succeeded, after the last session's work.
	Close() error
}

// ExtensionState says what became of an extension.
type ExtensionState struct {
	Name string
	Err  error // nil when it works; wraps ErrExtension and the reason otherwise
}

// initExtensions starts every extension and records the failures.
func (r *Runtime) initExtensions(ctx context.Context) error {
	for _, x := range r.opts.Extensions {
		before := r.hooks
		state := ExtensionState{Name: x.Name()}
		if err := x.Init(ctx, r); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			state.Err = fmt.Errorf("%w: %s: %w", ErrExtension, x.Name(), err)
			r.hooks = before
		} else {
			r.started = append(r.started, x)
		}
		r.extensions = append(r.extensions, state)
	}
	return nil
}

// Extensions reports on every extension that Load was given.
func (r *Runtime) Extensions() []ExtensionState { return r.extensions }

func (r *Runtime) closeExtensions() error {
	var problems []error
	for i := len(r.started) - 1; i >= 0; i-- {
		if err := r.started[i].Close(); err != nil {
			problems = append(problems, fmt.Errorf("close %s: %w", r.started[i].Name(), err))
		}
	}
	r.started = nil
	return errors.Join(problems...)
}
