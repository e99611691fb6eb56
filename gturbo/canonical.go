package gturbo

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// EncodeCanonical writes v in the one spelling of JSON that writers of the format use: two spaces a level, one member
// or element a line, " : " between key and value, keys in the order of compareKeys, no newline at the end, optional members
// left out instead of null. No hash is ever taken over a re-encoded document; the spelling serves comparison by bytes
// with other writers.
//
// v is built of structs with json tags ("name", "name,omitempty"), maps with string keys, slices, pointers, strings,
// booleans, integers and finite floats. Anything else is a mistake in our code and panics; invalid UTF-8 and
// non-finite floats are errors.
func EncodeCanonical(v any) ([]byte, error) {
	w := &canonicalWriter{orders: map[reflect.Type][]canonicalField{}}
	w.value(reflect.ValueOf(v), 0)
	return w.out, w.err
}

// compareKeys orders the keys of an object: letter case counts only between keys that are otherwise equal, and runs of
// digits compare as numbers.
func compareKeys(a, b string) int {
	x, y := strings.ToLower(a), strings.ToLower(b)
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var c int
			if c, x, y = compareNumbers(x, y); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// compareNumbers compares the digits that x and y begin with and returns what follows them.
func compareNumbers(x, y string) (c int, restX, restY string) {
	digits := func(s string) (number, rest string) {
		end := 0
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		return strings.TrimLeft(s[:end], "0"), s[end:]
	}
	m, restX := digits(x)
	n, restY := digits(y)
	if len(m) != len(n) {
		return len(m) - len(n), restX, restY
	}
	return strings.Compare(m, n), restX, restY
}

type canonicalWriter struct {
	out    []byte
	orders map[reflect.Type][]canonicalField
	err    error
}

type canonicalField struct {
	name     string
	index    int
	optional bool
}

func (w *canonicalWriter) value(v reflect.Value, level int) {
	switch v.Kind() {
	case reflect.Struct:
		w.structure(v, level)
	case reflect.Map:
		w.mapping(v, level)
	case reflect.Slice, reflect.Array:
		w.array(v, level)
	case reflect.String:
		w.text(v.String())
	case reflect.Bool:
		w.out = strconv.AppendBool(w.out, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.out = strconv.AppendUint(w.out, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		w.float(v.Float())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.value(v.Elem(), level)
			return
		}
		fallthrough
	default:
		panic("BUG: gturbo: canonical JSON has no form for " + v.String())
	}
}

func (w *canonicalWriter) structure(v reflect.Value, level int) {
	fields := w.fields(v.Type())
	n := 0
	w.open('{')
	for _, f := range fields {
		if member := v.Field(f.index); !f.optional || !member.IsZero() {
			w.member(n, f.name, member, level)
			n++
		}
	}
	w.close('}', n, level)
}

// fields returns the members of a struct type in canonical order.
func (w *canonicalWriter) fields(t reflect.Type) []canonicalField {
	if fields, ok := w.orders[t]; ok {
		return fields
	}
	var fields []canonicalField
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			panic("BUG: gturbo: " + t.String() + "." + t.Field(i).Name + " has no json name")
		}
		fields = append(fields, canonicalField{name, i, options == "omitempty"})
	}
	slices.SortFunc(fields, func(a, b canonicalField) int { return compareKeys(a.name, b.name) })
	w.orders[t] = fields
	return fields
}

func (w *canonicalWriter) mapping(v reflect.Value, level int) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareKeys(a.String(), b.String()) })
	w.open('{')
	for n, key := range keys {
		w.member(n, key.String(), v.MapIndex(key), level)
	}
	w.close('}', len(keys), level)
}

func (w *canonicalWriter) array(v reflect.Value, level int) {
	w.open('[')
	for n := range v.Len() {
		w.line(n, level+1)
		w.value(v.Index(n), level+1)
	}
	w.close(']', v.Len(), level)
}

func (w *canonicalWriter) member(n int, key string, v reflect.Value, level int) {
	w.line(n, level+1)
	w.text(key)
	w.out = append(w.out, " : "...)
	w.value(v, level+1)
}

func (w *canonicalWriter) open(bracket byte) { w.out = append(w.out, bracket) }

// close ends an object or array. An empty one is spelled with an empty line, as the original writer's platform does.
func (w *canonicalWriter) close(bracket byte, n, level int) {
	if n == 0 {
		w.out = append(w.out, '\n')
	}
	w.newline(level)
	w.out = append(w.out, bracket)
}

// line begins the line of member or element n.
func (w *canonicalWriter) line(n, level int) {
	if n > 0 {
		w.out = append(w.out, ',')
	}
	w.newline(level)
}

func (w *canonicalWriter) newline(level int) {
	w.out = append(w.out, '\n')
	for range level {
		w.out = append(w.out, "  "...)
	}
}

// float prints integral values as integers and all others in their shortest form.
func (w *canonicalWriter) float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.fail(fmt.Errorf("encode %v: not a finite number: %w", v, ErrArchNumber))
		return
	}
	format := byte('g')
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		format = 'f'
	}
	w.out = strconv.AppendFloat(w.out, v, format, -1, 64)
}

func (w *canonicalWriter) text(s string) {
	if !utf8.ValidString(s) {
		w.fail(fmt.Errorf("encode %q: not UTF-8: %w", s, ErrCorrupt))
		return
	}
	const short = "btn.fr" // \b \t \n and \f \r; 0x0b has no short form
	w.out = append(w.out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			w.out = append(w.out, '\\', c)
		case c >= 0x20:
			w.out = append(w.out, c)
		case '\b' <= c && c <= '\r' && c != '\v':
			w.out = append(w.out, '\\', short[c-'\b'])
		default:
			w.out = fmt.Appendf(w.out, `\u%04x`, c)
		}
	}
	w.out = append(w.out, '"')
}

func (w *canonicalWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
