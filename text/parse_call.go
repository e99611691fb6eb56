package text

import (
	"fmt"
	"strings"
)

// A callReader reads what stands between the tokens of one tool call and writes its arguments as JSON while they
// come in. Grammar, with Q for the quote token:
//
//	call:NAME{KEY:VALUE,KEY:VALUE}     VALUE is Q text Q, a number, true, false, null, None, {…} or […]
//
// Keys reach to the next colon, bare values to the next comma or closing bracket.
type callReader struct {
	declared map[string]bool
	raw      strings.Builder
	state    callState
	open     []byte // brackets that are open, '{' or '['
	pending  []byte // what was read of a name, key, bare value or JSON string
	escaped  bool   // inside a JSON string: the next byte is escaped
	quoted   bool   // stateKey: a quoted stretch is open
	name     string
	named    bool // the name is complete and declared
	reported bool // the Parser has reported the start
	json     []byte
	sent     int // bytes of json that the Parser has reported
	err      error
}

type callState uint8

const (
	stateName       callState = iota // up to the first brace
	stateFirstKey                    // behind an opening brace
	stateKey                         // up to a colon
	stateJSONKey                     // inside a key in JSON's quotes
	stateColon                       // behind a key in JSON's quotes
	stateFirstItem                   // behind an opening bracket
	stateValue                       // before a value
	stateString                      // between quote tokens
	stateJSONString                  // between JSON's quotes
	stateBare                        // a value without quotes
	stateAfter                       // behind a value
	stateEnd                         // behind the last brace
)

func newCallReader(declared map[string]bool) *callReader {
	c := &callReader{declared: declared}
	c.raw.WriteString(markCall)
	return c
}

// inString says whether control tokens are text here.
func (c *callReader) inString() bool {
	return c.err == nil && (c.state == stateString || c.state == stateKey && c.quoted)
}

// text takes decoded text, which is valid UTF-8.
func (c *callReader) text(s string) {
	c.raw.WriteString(s)
	for i := 0; i < len(s) && c.err == nil; i++ {
		if c.state == stateString {
			c.json = appendJSONText(c.json, s[i:])
			return
		}
		c.char(s[i])
	}
}

// quote takes a quote token.
func (c *callReader) quote() {
	c.raw.WriteString(markQuote)
	if c.err != nil {
		return
	}
	switch c.state {
	case stateFirstItem, stateValue:
		c.json = append(c.json, '"')
		c.state = stateString
	case stateString:
		c.json = append(c.json, '"')
		c.state = stateAfter
	case stateFirstKey, stateKey:
		c.state = stateKey
		c.quoted = !c.quoted
	case stateJSONKey, stateJSONString:
		c.pending = append(c.pending, markQuote...)
	default:
		c.fail("a quote token stands where none is expected")
	}
}

func (c *callReader) fail(format string, args ...any) {
	c.err = fmt.Errorf("%w: %s", ErrCallSyntax, fmt.Sprintf(format, args...))
}

// finish returns the arguments if the call is complete.
func (c *callReader) finish() (Value, error) {
	if c.err != nil {
		return Value{}, c.err
	}
	if c.state != stateEnd {
		return Value{}, ErrCallUnfinished
	}
	arguments, err := ParseValue(c.json)
	if err != nil {
		panic(fmt.Sprintf("BUG: arguments %q: %v", c.json, err))
	}
	return arguments, nil
}

// char takes one byte outside of quoted strings. All syntax is ASCII, so the bytes of longer characters only ever
// go to pending.
func (c *callReader) char(b byte) {
	switch c.state {
	case stateName:
		c.nameChar(b)
	case stateFirstKey, stateKey:
		c.keyChar(b)
	case stateJSONKey, stateJSONString:
		c.jsonStringChar(b)
	case stateColon:
		if b == ':' {
			c.json = append(c.json, ':')
			c.state = stateValue
		} else if !isBlank(b) {
			c.fail("expected a colon after a key, found %q", b)
		}
	case stateFirstItem, stateValue:
		c.valueChar(b)
	case stateBare:
		c.bareChar(b)
	case stateAfter:
		c.afterChar(b)
	case stateEnd:
		if !isBlank(b) {
			c.fail("text after the arguments")
		}
	}
}

func isBlank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

func (c *callReader) nameChar(b byte) {
	if b != '{' {
		c.pending = append(c.pending, b)
		return
	}
	s := strings.TrimSpace(string(c.pending))
	c.pending = c.pending[:0]
	name, found := strings.CutPrefix(s, callTextPrefix)
	if !found {
		c.fail("expected %q before the name, found %.40q", callTextPrefix, s)
		return
	}
	c.name = strings.TrimSpace(name)
	if !c.declared[c.name] {
		c.err = fmt.Errorf("%w: %.60q", ErrUnknownTool, c.name)
		return
	}
	c.named = true
	c.openBracket('{')
}

func (c *callReader) openBracket(b byte) {
	if len(c.open) >= maxDepth {
		c.fail("nested deeper than %d levels", maxDepth)
		return
	}
	c.open = append(c.open, b)
	c.json = append(c.json, b)
	c.state = stateFirstKey
	if b == '[' {
		c.state = stateFirstItem
	}
}

// closeBracket closes the innermost bracket; b fits it.
func (c *callReader) closeBracket(b byte) {
	c.open = c.open[:len(c.open)-1]
	c.json = append(c.json, b)
	c.state = stateAfter
	if len(c.open) == 0 {
		c.state = stateEnd
	}
}

// closer is the byte that closes the innermost bracket.
func (c *callReader) closer() byte { return c.open[len(c.open)-1] + 2 } // in ASCII, '{' to '}' and '[' to ']'

func (c *callReader) keyChar(b byte) {
	fresh := len(c.pending) == 0 && !c.quoted
	switch {
	case c.quoted:
		c.pending = append(c.pending, b)
	case c.state == stateFirstKey && b == '}':
		c.closeBracket(b)
	case fresh && isBlank(b):
	case fresh && b == '}':
		c.fail("expected a key after a comma, found %q", b)
	case fresh && b == '"':
		c.state = stateJSONKey
	case b == ':':
		c.json = append(appendJSONString(c.json, strings.TrimRight(string(c.pending), " \n\t\r")), ':')
		c.pending = c.pending[:0]
		c.state = stateValue
	default:
		c.state = stateKey
		c.pending = append(c.pending, b)
	}
}
