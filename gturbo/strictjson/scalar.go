package strictjson

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String reads a string.
func (r *Reader) String(dst *string) error {
	if r.peek() != '"' {
		return r.mismatch("a string")
	}
	s, err := r.stringToken()
	*dst = strings.Clone(s)
	return err
}

// Bool reads true or false.
func (r *Reader) Bool(dst *bool) error {
	switch {
	case r.literal("true"):
		*dst = true
	case r.literal("false"):
		*dst = false
	default:
		return r.mismatch("a boolean")
	}
	return nil
}

// Int reads a signed integer.
func (r *Reader) Int(dst *int) error {
	var v int64
	if err := r.Int64(&v); err != nil {
		return err
	}
	if int64(int(v)) != v {
		return r.fail(ErrRange, "%d does not fit this machine's int", v)
	}
	*dst = int(v)
	return nil
}

// Int32 reads a signed 32-bit integer.
func (r *Reader) Int32(dst *int32) error {
	var v int64
	if err := r.Int64(&v); err != nil {
		return err
	}
	if int64(int32(v)) != v {
		return r.fail(ErrRange, "%d does not fit 32 bits", v)
	}
	*dst = int32(v)
	return nil
}

// Int64 reads a signed 64-bit integer.
func (r *Reader) Int64(dst *int64) error {
	token, err := r.integerToken()
	if err != nil {
		return err
	}
	v, err := strconv.ParseInt(token, 10, 64)
	if err != nil {
		return r.fail(ErrRange, "%s does not fit a signed 64-bit integer", shorten(token))
	}
	*dst = v
	return nil
}

// Uint64 reads an unsigned 64-bit integer.
func (r *Reader) Uint64(dst *uint64) error {
	token, err := r.integerToken()
	if err != nil {
		return err
	}
	v, err := strconv.ParseUint(token, 10, 64)
	if err != nil {
		return r.fail(ErrRange, "%s does not fit an unsigned 64-bit integer", shorten(token))
	}
	*dst = v
	return nil
}

// Uint32 reads an unsigned 32-bit integer.
func (r *Reader) Uint32(dst *uint32) error {
	var v uint64
	if err := r.Uint64(&v); err != nil {
		return err
	}
	if v > math.MaxUint32 {
		return r.fail(ErrRange, "%d does not fit an unsigned 32-bit integer", v)
	}
	*dst = uint32(v)
	return nil
}

// Float reads a number as a finite float64; integers count.
func (r *Reader) Float(dst *float64) error {
	if !r.numberAhead() {
		return r.mismatch("a number")
	}
	token, err := r.numberToken()
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return r.fail(ErrRange, "%s does not fit a double", shorten(token))
	}
	*dst = v
	return nil
}

func (r *Reader) numberAhead() bool {
	c := r.peek()
	return c == '-' || '0' <= c && c <= '9'
}

func (r *Reader) integerToken() (string, error) {
	if !r.numberAhead() {
		return "", r.mismatch("an integer")
	}
	token, err := r.numberToken()
	if err == nil && strings.ContainsAny(token, ".eE") {
		err = r.fail(ErrType, "expected an integer, found %s", shorten(token))
	}
	return token, err
}

// numberToken consumes a number: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (r *Reader) numberToken() (string, error) {
	start := r.pos
	r.oneOf("-")
	if !r.oneOf("0") && r.digits() == 0 {
		return "", r.fail(ErrSyntax, "a number without digits")
	}
	if r.oneOf(".") && r.digits() == 0 {
		return "", r.fail(ErrSyntax, "a fraction without digits")
	}
	if r.oneOf("eE") {
		r.oneOf("+-")
		if r.digits() == 0 {
			return "", r.fail(ErrSyntax, "an exponent without digits")
		}
	}
	if r.pos < len(r.text) && '0' <= r.text[r.pos] && r.text[r.pos] <= '9' {
		return "", r.fail(ErrSyntax, "a number with a leading zero")
	}
	return r.text[start:r.pos], nil
}

func (r *Reader) oneOf(set string) bool {
	if r.pos < len(r.text) && strings.IndexByte(set, r.text[r.pos]) >= 0 {
		r.pos++
		return true
	}
	return false
}

func (r *Reader) digits() int {
	start := r.pos
	for r.pos < len(r.text) && '0' <= r.text[r.pos] && r.text[r.pos] <= '9' {
		r.pos++
	}
	return r.pos - start
}

// stringToken consumes a string. Without escapes the result shares memory with the document.
func (r *Reader) stringToken() (string, error) {
	if r.peek() != '"' {
		return "", r.fail(ErrSyntax, "expected a string, found %s", r.found())
	}
	start := r.pos + 1
	for i := start; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			s := r.text[start:i]
			if !utf8.ValidString(s) {
				return "", r.fail(ErrSyntax, "a string that is not UTF-8")
			}
			r.pos = i + 1
			return s, nil
		case c == '\\':
			return r.escapedString(start, i)
		case c < 0x20:
			return "", r.fail(ErrSyntax, "control character 0x%02x in a string", c)
		}
	}
	return "", r.fail(ErrSyntax, "a string without end")
}

// escapedString consumes the string that begins at start and whose first backslash stands at i.
func (r *Reader) escapedString(start, i int) (string, error) {
	b := append(make([]byte, 0, 2*(i-start)+16), r.text[start:i]...)
	for i < len(r.text) {
		c := r.text[i]
		switch {
		case c == '"':
			if !utf8.Valid(b) {
				return "", r.fail(ErrSyntax, "a string that is not UTF-8")
			}
			r.pos = i + 1
			return string(b), nil
		case c < 0x20:
			return "", r.fail(ErrSyntax, "control character 0x%02x in a string", c)
		case c != '\\':
			b = append(b, c)
			i++
		default:
			decoded, width := unescape(r.text[i:])
			if width == 0 {
				return "", r.fail(ErrSyntax, "a broken escape in a string")
			}
			b = utf8.AppendRune(b, decoded)
			i += width
		}
	}
	return "", r.fail(ErrSyntax, "a string without end")
}

const (
	escapes   = `"\/bfnrt`
	unescaped = "\"\\/\b\f\n\r\t"
)

// unescape decodes the escape at the start of s and returns how many bytes it takes; 0 means that it is broken. A
// lone surrogate is broken: it has no UTF-8 form.
func unescape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(escapes, s[1]); i >= 0 {
		return rune(unescaped[i]), 2
	}
	first, ok := hexRune(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	second, ok := hexRune(s[6:])
	if pair := utf16.DecodeRune(first, second); ok && pair != utf8.RuneError {
		return pair, 12
	}
	return 0, 0
}

// hexRune reads \uXXXX at the start of s.
func hexRune(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}

// shorten keeps a number that somebody wrote with a thousand digits out of messages.
func shorten(token string) string {
	if len(token) > 32 {
		return token[:29] + "..."
	}
	return token
}
