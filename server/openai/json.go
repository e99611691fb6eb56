package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// maxDepth bounds the nesting of a request: no honest one comes near, and nothing below recurses deeper.
const maxDepth = 100

// A value is the text of one valid JSON value without white space around it. Values are slices of the request's bytes:
// a picture of many megabytes is not copied level by level.
type value []byte

// parse checks that data is one JSON value of bounded depth.
func parse(data []byte) (value, *Error) {
	if depth := nesting(data); depth > maxDepth {
		return nil, refuse(CodeInvalidJSON, "", "the request is nested deeper than %d levels", maxDepth)
	}
	if !json.Valid(data) {
		return nil, syntaxError(data)
	}
	return value(bytes.Trim(data, space)), nil
}

const space = " \t\r\n"

// nesting returns how deep brackets of data go, strings left out.
func nesting(data []byte) int {
	depth, most := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i) - 1
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}

// endOfString returns the index behind the string that starts at i, len(data) if it does not end.
func endOfString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func syntaxError(data []byte) *Error {
	var any json.RawMessage
	err := json.Unmarshal(data, &any)
	if wrong, ok := err.(*json.SyntaxError); ok {
		return refuse(CodeInvalidJSON, "", "the request is not JSON: %v at byte %d of %d", wrong, wrong.Offset, len(data))
	}
	return refuse(CodeInvalidJSON, "", "the request is not JSON: %v", err)
}

// kind names the type of v as JSON calls it.
func (v value) kind() string {
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func (v value) isNull() bool { return v[0] == 'n' }

// text returns the string that v, of kind string, spells.
func (v value) text() string {
	if inner := v[1 : len(v)-1]; plain(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		panic("BUG: openai: a checked string does not decode")
	}
	return s
}

// plain says that the inside of a JSON string spells itself.
func plain(inner []byte) bool {
	for _, c := range inner {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// number returns v, of kind number, as a float64; out of range is an infinity.
func (v value) number() float64 {
	f, _ := strconv.ParseFloat(string(v), 64)
	return f
}

type member struct {
	key   string
	value value
}

// members returns the members of v, of kind object, in order.
func (v value) members() []member {
	var out []member
	for i := skipSpace(v, 1); v[i] != '}'; {
		end := endOfString(v, i)
		key := v[i:end].text()
		i = skipSpace(v, skipSpace(v, end)+1) // the colon
		end = endOfValue(v, i)
		out = append(out, member{key, v[i:end]})
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return out
}

// items returns the elements of v, of kind array.
func (v value) items() []value {
	var out []value
	for i := skipSpace(v, 1); v[i] != ']'; {
		end := endOfValue(v, i)
		out = append(out, v[i:end])
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return out
}

func skipSpace(v value, i int) int {
	for v[i] == ' ' || v[i] == '\t' || v[i] == '\r' || v[i] == '\n' {
		i++
	}
	return i
}

// endOfValue returns the index behind the value that starts at i inside a checked object or array.
func endOfValue(v value, i int) int {
	depth := 0
	for {
		switch v[i] {
		case '"':
			i = endOfString(v, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
			continue
		default:
			i = endOfWord(v, i)
		}
		if depth == 0 {
			return i
		}
	}
}

// endOfWord returns the index behind a number, true, false or null.
func endOfWord(v value, i int) int {
	for !bytes.ContainsRune([]byte(",:]} \t\r\n"), rune(v[i])) {
		i++
	}
	return i
}
