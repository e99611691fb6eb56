package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of every Value that is read, so that hostile input cannot exhaust the stack.
const maxDepth = 100

// ParseValue reads one JSON value that fills data. Text that is not valid UTF-8, and halves of surrogate pairs,
// become U+FFFD. Errors wrap ErrValue.
func ParseValue(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return Value{}, fmt.Errorf("%w: offset %d of %d: %v", ErrValue, d.InputOffset(), len(data), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Value{}, fmt.Errorf("%w: offset %d of %d: more text after the value", ErrValue, d.InputOffset(), len(data))
	}
	return v, nil
}

// ParseArguments reads the arguments of a tool call as clients send them: the JSON text of an object. Blank text
// means no arguments. Errors wrap ErrArguments.
func ParseArguments(s string) (Value, error) {
	if strings.TrimSpace(s) == "" {
		return ObjectValue(), nil
	}
	v, err := ParseValue([]byte(s))
	if err != nil {
		return Value{}, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	if v.kind != KindObject {
		return Value{}, fmt.Errorf("%w: expected a JSON object, found %.40q", ErrArguments, s)
	}
	return v, nil
}

func readValue(d *json.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	token, err := d.Token()
	if err == io.EOF {
		return Value{}, io.ErrUnexpectedEOF
	}
	if err != nil {
		return Value{}, err
	}
	switch t := token.(type) {
	case nil:
		return Value{}, nil
	case bool:
		return BoolValue(t), nil
	case json.Number:
		return numberValue(t.String()), nil
	case string:
		return StringValue(t), nil
	case json.Delim:
		if t == '[' {
			return readList(d, depth)
		}
		return readObject(d, depth)
	}
	panic(fmt.Sprintf("BUG: JSON token of type %T", token))
}

func readList(d *json.Decoder, depth int) (Value, error) {
	var items []Value
	for d.More() {
		item, err := readValue(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		items = append(items, item)
	}
	_, err := d.Token()
	return ListValue(items...), err
}

func readObject(d *json.Decoder, depth int) (Value, error) {
	var members []Member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		value, err := readValue(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		members = append(members, Member{key.(string), value})
	}
	_, err := d.Token()
	return ObjectValue(members...), err
}

// numberValue takes a literal of JSON's grammar.
func numberValue(literal string) Value {
	if strings.ContainsAny(literal, ".eE") {
		return Value{kind: KindFloat, text: literal}
	}
	return Value{kind: KindInt, text: literal}
}

// UnmarshalJSON is ParseValue for encoding/json.
func (v *Value) UnmarshalJSON(data []byte) error {
	read, err := ParseValue(data)
	if err == nil {
		*v = read
	}
	return err
}

// MarshalJSON writes v without white space, numbers with the digits they were read with.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// String returns v as JSON.
func (v Value) String() string { return string(v.AppendJSON(nil)) }

// AppendJSON appends v as JSON without white space.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.kind {
	case KindString:
		return appendJSONString(dst, v.text)
	case KindBool, KindInt, KindFloat:
		return append(dst, v.text...)
	case KindList:
		dst = append(dst, '[')
		for i, item := range v.items {
			dst = item.AppendJSON(appendCommaAfter(dst, i))
		}
		return append(dst, ']')
	case KindObject:
		dst = append(dst, '{')
		for i, m := range v.members {
			dst = append(appendJSONString(appendCommaAfter(dst, i), m.Key), ':')
			dst = m.Value.AppendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

func appendCommaAfter(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}

func appendJSONString(dst []byte, s string) []byte {
	return append(appendJSONText(append(dst, '"'), s), '"')
}

// appendJSONText appends s as it stands inside the quotes of a JSON string. Texts appended one after the other
// give the same bytes as their concatenation, if each is valid UTF-8: streamed arguments rely on it.
func appendJSONText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
