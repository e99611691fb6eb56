package openai

import (
	"math"
	"strconv"
)

// A field reads one member of an object; at is its path, e.g. "messages[2].role". It never sees null.
type field func(v value, at string) *Error

// fields is the table of an object: which names it may have and what becomes of each.
type fields map[string]field

// read hands the members of v to the table. at is the path of v, empty for the request itself.
func (f fields) read(v value, at string) *Error {
	if v.kind() != "object" {
		return wrongType(v, at, "an object")
	}
	seen := make(map[string]bool)
	for _, m := range v.members() {
		path := m.key
		if at != "" {
			path = at + "." + m.key
		}
		take, known := f[m.key]
		switch {
		case !known:
			return refuse(CodeUnknownParameter, path, "unknown parameter")
		case seen[m.key]:
			return refuse(CodeDuplicate, path, "given twice")
		}
		seen[m.key] = true
		if m.value.isNull() {
			continue
		}
		if err := take(m.value, path); err != nil {
			return err
		}
	}
	return nil
}

func wrongType(v value, at, want string) *Error {
	return refuse(CodeInvalidType, at, "expected %s, got %s", want, v.kind())
}

// ignored accepts any value: the field does not change the answer here.
func ignored(value, string) *Error { return nil }

// refused refuses the field, whatever its value.
func refused(why string) field {
	return func(_ value, at string) *Error { return refuse(CodeUnsupported, at, "not supported: %s", why) }
}

func text(dst *string) field {
	return func(v value, at string) *Error {
		if v.kind() != "string" {
			return wrongType(v, at, "a string")
		}
		*dst = v.text()
		return nil
	}
}

func boolean(dst *bool) field {
	return func(v value, at string) *Error {
		if v.kind() != "boolean" {
			return wrongType(v, at, "a boolean")
		}
		*dst = v[0] == 't'
		return nil
	}
}

// number takes a number in [lo, hi].
func number(dst *float64, lo, hi float64) field {
	return func(v value, at string) *Error {
		if v.kind() != "number" {
			return wrongType(v, at, "a number")
		}
		f := v.number()
		if !(f >= lo && f <= hi) {
			return refuse(CodeInvalidValue, at, "%s is outside [%v, %v]", v, lo, hi)
		}
		*dst = f
		return nil
	}
}

// integer takes a whole number in [lo, hi]; 5.0 is one.
func integer[T int | int32 | int64](dst *T, lo, hi int64) field {
	return func(v value, at string) *Error {
		if v.kind() != "number" {
			return wrongType(v, at, "an integer")
		}
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			f := v.number()
			if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
				return refuse(CodeInvalidValue, at, "%s is not an integer in [%d, %d]", v, lo, hi)
			}
			n = int64(f)
		}
		if n < lo || n > hi {
			return refuse(CodeInvalidValue, at, "%s is outside [%d, %d]", v, lo, hi)
		}
		*dst = T(n)
		return nil
	}
}

// list reads the elements of an array, each with its own path.
func list(each field) field {
	return func(v value, at string) *Error {
		if v.kind() != "array" {
			return wrongType(v, at, "an array")
		}
		for i, item := range v.items() {
			if err := each(item, at+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
		return nil
	}
}

// oneOf takes one of a few strings.
func oneOf(dst *string, allowed ...string) field {
	return func(v value, at string) *Error {
		if err := text(dst)(v, at); err != nil {
			return err
		}
		for _, a := range allowed {
			if *dst == a {
				return nil
			}
		}
		return refuse(CodeInvalidValue, at, "%q is none of %q", shorten(*dst), allowed)
	}
}

// shorten keeps messages short: what a client sent may be megabytes.
func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
