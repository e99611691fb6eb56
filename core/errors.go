package core

import "errors"

var (
	// ErrOptions: an option is out of its bounds, or options contradict each other.
	ErrOptions = errors.New("bad option")
	// ErrConfig: the model's configuration lacks a key, or uses a feature of the family that this runtime has not.
	ErrConfig = errors.New("unsupported model configuration")
	// ErrContextLength: the prompt does not fit the context. A ContextError carries the numbers.
	ErrContextLength = errors.New("prompt does not fit the context")
	// ErrNoMedia: a request has attachments, but no extension takes them.
	ErrNoMedia = errors.New("no extension for attachments")
	// ErrSpan: a span is longer than the runtime was sized for, or spans are out of order.
	ErrSpan = errors.New("bad span")
	// ErrToken: an id is outside the vocabulary.
	ErrToken = errors.New("token id outside the vocabulary")
	// ErrNoPrompt: Generate without a Prefill before it.
	ErrNoPrompt = errors.New("nothing to continue from")
	// ErrNonFinite: the logits hold a NaN or an infinity. The message names the first stage whose output does.
	ErrNonFinite = errors.New("non-finite values")
	// ErrClosed: the runtime or session was closed.
	ErrClosed = errors.New("closed")
	// ErrExtension: an extension failed to start. It is disabled; text works.
	ErrExtension = errors.New("extension disabled")

	// ErrStop ends a generation without an error when emit returns it, e.g. after a stop string.
	ErrStop = errors.New("stop generating")
)
