package text

import (
	"encoding/json"
	"strings"
)

// jsonStringChar collects a string in JSON's quotes. It is written when it is complete, for its escapes have to
// be understood.
func (c *callReader) jsonStringChar(b byte) {
	switch {
	case c.escaped:
		c.escaped = false
	case b == '\\':
		c.escaped = true
	case b == '"':
		c.json = appendJSONString(c.json, unquoteJSON(c.pending))
		c.pending = c.pending[:0]
		if c.state == stateJSONKey {
			c.state = stateColon
		} else {
			c.state = stateAfter
		}
		return
	}
	c.pending = append(c.pending, b)
}

// unquoteJSON reads what stands between JSON's quotes. Line feeds may stand for themselves; what JSON cannot read
// even so is taken as it stands.
func unquoteJSON(body []byte) string {
	quoted := []byte{'"'}
	for _, b := range body {
		if b < 0x20 {
			quoted = appendJSONText(quoted, string(rune(b)))
		} else {
			quoted = append(quoted, b)
		}
	}
	var s string
	if err := json.Unmarshal(append(quoted, '"'), &s); err != nil {
		return string(body)
	}
	return s
}

func (c *callReader) valueChar(b byte) {
	switch {
	case isBlank(b):
	case b == '"':
		c.state = stateJSONString
	case b == '{' || b == '[':
		c.openBracket(b)
	case c.state == stateFirstItem && b == ']':
		c.closeBracket(b)
	case b == ',' || b == c.closer():
		c.fail("expected a value, found %q", b)
	default:
		c.state = stateBare
		c.pending = append(c.pending, b)
	}
}

func (c *callReader) bareChar(b byte) {
	if b != ',' && b != c.closer() {
		c.pending = append(c.pending, b)
		return
	}
	c.json = appendBare(c.json, strings.TrimSpace(string(c.pending)))
	c.pending = c.pending[:0]
	c.state = stateAfter
	c.afterChar(b)
}

// appendBare appends a value that has no quotes: a JSON literal, Python's None, or else a string.
func appendBare(dst []byte, s string) []byte {
	switch {
	case s == "None":
		return append(dst, "null"...)
	case s == "true" || s == "false" || s == "null" || isJSONNumber(s):
		return append(dst, s...)
	}
	return appendJSONString(dst, s)
}

func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

func (c *callReader) afterChar(b byte) {
	switch {
	case isBlank(b):
	case b == ',':
		c.json = append(c.json, ',')
		c.state = stateValue
		if c.closer() == '}' {
			c.state = stateKey
		}
	case b == c.closer():
		c.closeBracket(b)
	default:
		c.fail("expected a comma or %q after a value, found %q", c.closer(), b)
	}
}
