package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// The chat templates are Jinja, and Jinja shows Python's ways: what counts as white space, how numbers are
// spelled, how keys are sorted. This file holds those ways; nothing else in the package deals with them.

// strip removes white space from both ends as Python's str.strip does.
func strip(s string) string { return strings.TrimFunc(s, isPythonSpace) }

// isPythonSpace is unicode.IsSpace with the four separators U+001C to U+001F, which Python counts as white space.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// pythonNumber spells a number as Python's str does. Whole numbers keep all digits; others get the shortest
// digits that read back as the same float64, with an exponent below 1e-4 and from 1e16 on.
func pythonNumber(v Value) string {
	if v.kind == KindInt {
		if v.text == "-0" {
			return "0"
		}
		return v.text
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil { // beyond float64
		if f < 0 {
			return "-inf"
		}
		return "inf"
	}
	scientific := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, _ := strconv.Atoi(scientific[strings.IndexByte(scientific, 'e')+1:])
	if f != 0 && (exponent < -4 || exponent >= 16) {
		return scientific
	}
	plain := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(plain, ".") {
		plain += ".0"
	}
	return plain
}

// pythonText is Python's str.
func pythonText(v Value) string {
	if v.kind == KindString {
		return v.text
	}
	var b strings.Builder
	writeRepr(&b, v)
	return b.String()
}

func writeRepr(b *strings.Builder, v Value) {
	switch v.kind {
	case KindNull:
		b.WriteString("None")
	case KindBool:
		b.WriteString(map[string]string{"true": "True", "false": "False"}[v.text])
	case KindInt, KindFloat:
		b.WriteString(pythonNumber(v))
	case KindString:
		writeStringRepr(b, v.text)
	case KindList:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			writeRepr(b, item)
		}
		b.WriteByte(']')
	case KindObject:
		b.WriteByte('{')
		for i, m := range v.members {
			if i > 0 {
				b.WriteString(", ")
			}
			writeStringRepr(b, m.Key)
			b.WriteString(": ")
			writeRepr(b, m.Value)
		}
		b.WriteByte('}')
	}
}

func writeStringRepr(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
}

// sortedMembers orders members as Jinja's dictsort does: by lower-cased key, by code point, members whose keys
// differ in case only in the order they had.
func sortedMembers(members []Member) []Member {
	type keyed struct {
		lower  string
		member Member
	}
	order := make([]keyed, len(members))
	for i, m := range members {
		order[i] = keyed{lower(m.Key), m}
	}
	slices.SortStableFunc(order, func(a, b keyed) int { return strings.Compare(a.lower, b.lower) })
	sorted := make([]Member, len(members))
	for i, k := range order {
		sorted[i] = k.member
	}
	return sorted
}

// lower and upper change case with all of Unicode's special cases, as Python does and package strings does not.
func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und, cases.HandleFinalSigma(true)).String(s)
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
