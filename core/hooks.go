package core

import "context"

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

// Hooks are the places where an extension attaches to a Runtime. Each is an owner hook: at most one extension sets it,
// a second Set panics. Unset, a request with media is refused.
type Hooks struct {
	// Admit is called once per media of a request, from header bytes alone, before tokens are laid out. Any
	// goroutine; no lock held.
	Admit func(ctx context.Context, m Media) (Admission, error)
	// Encode is called once per request, after every media was admitted and the prompt fits, with those media whose
	// rows are needed (not reused from a prefix). It returns one set of rows per media, each [SoftTokens, D]. Called
	// on the session's goroutine at a quiet point: nothing is queued on the backend; the extension may call
	// Runtime.ReleaseExperts first.
	Encode func(ctx context.Context, media []Media, progress func(done, total int)) ([][]float32, error)
	// Close releases what the extension holds.
	Close func() error
}
