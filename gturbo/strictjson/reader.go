// Package strictjson reads JSON that somebody else wrote and that must mean one thing only: duplicate keys, missing
// keys, nulls, wrong types and numbers that do not fit are errors with a path, unknown keys are ignored. It pulls
// values straight into the caller's variables and builds no tree, so that memory stays within a small multiple of the
// text whatever the text claims.
//
// It refuses to know any schema, and it does not limit the size of the text: callers cap it before they read it.
// Start reading at Parse and Reader.Object.
package strictjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxDepth is how deeply arrays and objects may be nested.
const MaxDepth = 256

// A Reader walks one document from front to back. Each method consumes exactly one value. Used by one goroutine.
type Reader struct {
	text  string
	pos   int
	depth int
}

// Keys names the members of an object that a caller wants.
type Keys struct {
	Required []string // absent or null is an error
	Optional []string // absent or null is passed over in silence
}

// Parse reads data as one document: document must consume exactly one value, and only white space may follow it.
// Failures are of type *Error.
func Parse(data []byte, document func(*Reader) error) error {
	r := &Reader{text: string(data)}
	if err := document(r); err != nil {
		if _, ok := err.(*Error); !ok {
			return &Error{Offset: -1, Err: err}
		}
		return err
	}
	r.space()
	if r.pos < len(r.text) {
		return r.fail(ErrSyntax, "unexpected %s after the document", r.found())
	}
	return nil
}

// Object reads an object. member is called in document order for each key in keys whose value it must consume;
// optional keys that hold null and unknown keys are passed over. keys lists at most 64.
func (r *Reader) Object(keys Keys, member func(key string) error) error {
	var seen uint64
	err := r.members(func(key string) (bool, error) {
		bit, name, optional := keys.find(key)
		if bit < 0 {
			return false, r.Skip()
		}
		if seen&(1<<bit) != 0 {
			return true, r.fail(ErrDuplicate, "%q", name)
		}
		seen |= 1 << bit
		if optional && r.Null() {
			return true, nil
		}
		return true, member(name)
	})
	if err != nil {
		return err
	}
	for i, name := range keys.Required {
		if seen&(1<<i) == 0 {
			return r.fail(ErrMissing, "%q", name)
		}
	}
	return nil
}

// find returns the position of key among required and optional names, and the caller's own spelling of it, which
// costs no allocation.
func (k Keys) find(key string) (bit int, name string, optional bool) {
	for i, name := range k.Required {
		if name == key {
			return i, name, false
		}
	}
	for i, name := range k.Optional {
		if name == key {
			return len(k.Required) + i, name, true
		}
	}
	return -1, "", false
}

// Map reads an object whose keys are data. member is called in document order and must consume the value.
func (r *Reader) Map(member func(key string) error) error {
	return r.members(func(key string) (bool, error) { return false, member(strings.Clone(key)) })
}

// members reads an object. member consumes the value and says whether it has taken care of duplicates of this key
// itself; the others are compared here, once the object has ended. Keys may share memory with the document.
func (r *Reader) members(member func(key string) (bool, error)) error {
	if err := r.enter('{', "an object"); err != nil {
		return err
	}
	var others []string
	for first := true; !r.leave('}'); first = false {
		if err := r.separator(first); err != nil {
			return err
		}
		key, err := r.stringToken()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		checked, err := member(key)
		if err != nil {
			return under(strings.Clone(key), err)
		}
		if !checked {
			others = append(others, key)
		}
	}
	slices.Sort(others)
	for i := 1; i < len(others); i++ {
		if others[i] == others[i-1] {
			return r.fail(ErrDuplicate, "%q", others[i])
		}
	}
	return nil
}

// Array reads an array; item must consume element i.
func (r *Reader) Array(item func(i int) error) error {
	if err := r.enter('[', "an array"); err != nil {
		return err
	}
	for i := 0; !r.leave(']'); i++ {
		if err := r.separator(i == 0); err != nil {
			return err
		}
		if err := item(i); err != nil {
			return under("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

// Skip passes over one value of any type. It is held to the same grammar, duplicate keys included.
func (r *Reader) Skip() error {
	switch r.peek() {
	case '{':
		return r.members(func(string) (bool, error) { return false, r.Skip() })
	case '[':
		return r.Array(func(int) error { return r.Skip() })
	case '"':
		_, err := r.stringToken()
		return err
	case 't', 'f':
		return r.Bool(new(bool))
	case 'n':
		if r.Null() {
			return nil
		}
	default:
		if r.numberAhead() {
			_, err := r.numberToken()
			return err
		}
	}
	return r.fail(ErrSyntax, "expected a value, found %s", r.found())
}

// Raw passes over one value and sets dst to a copy of its text, or to nil when it is null.
func (r *Reader) Raw(dst *[]byte) error {
	*dst = nil
	if r.Null() {
		return nil
	}
	r.space()
	start := r.pos
	if err := r.Skip(); err != nil {
		return err
	}
	*dst = []byte(r.text[start:r.pos])
	return nil
}

// IsObject reports whether the next value is an object; it consumes nothing.
func (r *Reader) IsObject() bool { return r.peek() == '{' }

// IsArray reports whether the next value is an array; it consumes nothing.
func (r *Reader) IsArray() bool { return r.peek() == '[' }

// Null consumes the next value if it is null and reports whether it was.
func (r *Reader) Null() bool { return r.literal("null") }

// enter consumes an opening bracket.
func (r *Reader) enter(open byte, what string) error {
	if r.peek() != open {
		return r.mismatch(what)
	}
	if r.depth++; r.depth > MaxDepth {
		return r.fail(ErrDepth, "more than %d levels", MaxDepth)
	}
	r.pos++
	return nil
}

// leave consumes the closing bracket if it is next.
func (r *Reader) leave(end byte) bool {
	if r.peek() != end {
		return false
	}
	r.depth--
	r.pos++
	return true
}

// separator consumes the comma before every member or element but the first. A comma before a closing bracket is
// left for the reader of the next value to refuse.
func (r *Reader) separator(first bool) error {
	if first {
		return nil
	}
	return r.expect(',')
}

func (r *Reader) expect(c byte) error {
	if r.peek() != c {
		return r.fail(ErrSyntax, "expected %q, found %s", c, r.found())
	}
	r.pos++
	return nil
}

// peek returns the first byte of the next token, or 0 at the end of the text.
func (r *Reader) peek() byte {
	r.space()
	if r.pos == len(r.text) {
		return 0
	}
	return r.text[r.pos]
}

func (r *Reader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// literal consumes word if it is the next token.
func (r *Reader) literal(word string) bool {
	r.space()
	if !strings.HasPrefix(r.text[r.pos:], word) {
		return false
	}
	r.pos += len(word)
	return true
}

// mismatch is the error for a next token that does not begin a value of the wanted type.
func (r *Reader) mismatch(want string) error {
	switch c := r.peek(); {
	case strings.HasPrefix(r.text[r.pos:], "null"):
		return r.fail(ErrNull, "expected %s", want)
	case c == '{', c == '[', c == '"', r.numberAhead(),
		strings.HasPrefix(r.text[r.pos:], "true"), strings.HasPrefix(r.text[r.pos:], "false"):
		return r.fail(ErrType, "expected %s, found %s", want, r.found())
	}
	return r.fail(ErrSyntax, "expected %s, found %s", want, r.found())
}

// found describes the next token for a message.
func (r *Reader) found() string {
	switch c := r.peek(); {
	case c == 0 && r.pos == len(r.text):
		return "the end of the text"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case r.numberAhead():
		return "a number"
	case strings.HasPrefix(r.text[r.pos:], "true"), strings.HasPrefix(r.text[r.pos:], "false"):
		return "a boolean"
	default:
		return fmt.Sprintf("byte 0x%02x", c)
	}
}

func (r *Reader) fail(kind error, format string, args ...any) error {
	return &Error{Offset: r.pos, Err: fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))}
}
