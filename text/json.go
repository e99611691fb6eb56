package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// A scanner walks JSON text without building values. A Gemma tokenizer.json has more than 1.5 million strings;
// through encoding/json they would cost several times the file's size in garbage.
//
// A value taken with raw may still be malformed inside; whoever reads it finds out.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: offset %d: %s", ErrTokenizerFile, s.pos, fmt.Sprintf(format, args...))
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(want byte) error {
	if got := s.peek(); got != want {
		if s.pos == len(s.data) {
			return s.errorf("expected %q, found the end", want)
		}
		return s.errorf("expected %q, found %q", want, got)
	}
	s.pos++
	return nil
}

// members calls f for each member of the object that comes next. f reads the value; key is valid until it does.
func (s *scanner) members(f func(key []byte) error) error {
	return s.list('{', '}', func() error {
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return f(key)
	})
}

// elements calls f, which reads one value, for each element of the array that comes next.
func (s *scanner) elements(f func() error) error { return s.list('[', ']', f) }

func (s *scanner) list(open, end byte, item func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.peek() == end {
		s.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.peek() == end {
			s.pos++
			return nil
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// str reads a string. The result is valid UTF-8 and may share memory with the input.
func (s *scanner) str() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	start := s.pos
	escaped, err := s.stringEnd()
	if err != nil {
		return nil, err
	}
	body := s.data[start : s.pos-1]
	if !utf8.Valid(body) {
		return nil, s.errorf("string is not valid UTF-8")
	}
	if !escaped {
		return body, nil
	}
	return s.unescape(s.data[start-1 : s.pos])
}

// stringEnd moves past the closing quote and reports whether the string has escapes.
func (s *scanner) stringEnd() (escaped bool, err error) {
	for i := s.pos; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, nil
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			s.pos = i
			return false, s.errorf("control character %#02x in a string", c)
		}
	}
	return false, s.errorf("string does not end")
}

// unescape decodes a quoted string. encoding/json turns half of a surrogate pair into U+FFFD, which would make
// another token of it.
func (s *scanner) unescape(quoted []byte) ([]byte, error) {
	var out string
	if err := json.Unmarshal(quoted, &out); err != nil {
		return nil, s.errorf("string %.40q: %v", quoted, err)
	}
	if bytes.Contains(quoted, []byte(`\u`)) && loneSurrogate(quoted) {
		return nil, s.errorf("string %.40q has half of a surrogate pair", quoted)
	}
	return []byte(out), nil
}

// loneSurrogate says whether quoted, whose escapes are known to be well formed, has an unpaired surrogate.
func loneSurrogate(quoted []byte) bool {
	pendingHigh := false
	for i := 0; i < len(quoted); i++ {
		high, low := false, false
		step := 0
		if quoted[i] == '\\' {
			step = 1
			if quoted[i+1] == 'u' {
				step = 5
				surrogate := quoted[i+2]|0x20 == 'd' && quoted[i+3] >= '8'
				low = surrogate && quoted[i+3]|0x20 >= 'c'
				high = surrogate && !low
			}
		}
		if pendingHigh != low {
			return true
		}
		pendingHigh = high
		i += step
	}
	return pendingHigh
}

// integer reads a whole number of at most nine digits, enough for an id.
func (s *scanner) integer() (int, error) {
	n, digits := 0, 0
	for c := s.peek(); c >= '0' && c <= '9'; digits++ {
		if digits == 9 {
			return 0, s.errorf("number has more than nine digits")
		}
		n = n*10 + int(c-'0')
		s.pos++
		c = 0
		if s.pos < len(s.data) {
			c = s.data[s.pos]
		}
	}
	if digits == 0 {
		return 0, s.errorf("expected a whole number")
	}
	return n, nil
}

// raw skips one value and returns a scanner of it alone. It looks at strings and brackets only.
func (s *scanner) raw() (scanner, error) {
	s.peek()
	start, depth := s.pos, 0
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		switch {
		case c == '"':
			s.pos++
			if _, err := s.stringEnd(); err != nil {
				return scanner{}, err
			}
			continue
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return scanner{s.data[:s.pos], start}, nil
		case c == '}' || c == ']':
			depth--
		}
		s.pos++
	}
	return scanner{}, s.errorf("value does not end")
}

// fields splits the object that comes next into its members; of members with one name the last counts.
func (s *scanner) fields() (map[string]scanner, error) {
	out := make(map[string]scanner)
	err := s.members(func(key []byte) (err error) {
		name := string(key)
		out[name], err = s.raw()
		return err
	})
	return out, err
}

// end fails if anything but white space is left.
func (s *scanner) end() error {
	if s.peek(); s.pos != len(s.data) {
		return s.errorf("more text after the value")
	}
	return nil
}

// decode reads the rest of s into v with encoding/json; for small sections. A nil value leaves v as it is.
func (s *scanner) decode(what string, v any) error {
	if s.data == nil {
		return nil
	}
	if err := json.Unmarshal(s.data[s.pos:], v); err != nil {
		return fmt.Errorf("%w: %s: %v", ErrTokenizerFile, what, err)
	}
	return nil
}
