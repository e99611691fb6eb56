package strictjson

import (
	"errors"
	"strconv"
	"strings"
)

var (
	// ErrSyntax: the text is not JSON (RFC 8259, UTF-8, no byte order mark).
	ErrSyntax = errors.New("invalid JSON")
	// ErrDepth: values are nested deeper than MaxDepth.
	ErrDepth = errors.New("JSON nested too deeply")
	// ErrDuplicate: an object holds one key twice.
	ErrDuplicate = errors.New("duplicate key")
	// ErrMissing: an object lacks a required key.
	ErrMissing = errors.New("missing key")
	// ErrNull: a required key holds null.
	ErrNull = errors.New("null where a value is required")
	// ErrType: a value is of another JSON type than the one asked for. A number with a fraction or an exponent is not
	// an integer.
	ErrType = errors.New("wrong JSON type")
	// ErrRange: a number does not fit the type asked for.
	ErrRange = errors.New("number out of range")
)

// Error says where in a document a rule was broken, by this package or by a caller's callback.
type Error struct {
	Path   string // e.g. layers[3].experts[7].offset; empty for the document itself
	Offset int    // byte offset in the document, or -1 when a callback failed
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	if e.Offset >= 0 {
		b.WriteString(" (byte " + strconv.Itoa(e.Offset) + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// under puts step in front of err's path. Paths are made only on the way out of a failure.
func under(step string, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return &Error{Path: step, Offset: -1, Err: err}
	}
	switch {
	case e.Path == "":
		e.Path = step
	case e.Path[0] == '[':
		e.Path = step + e.Path
	default:
		e.Path = step + "." + e.Path
	}
	return e
}
