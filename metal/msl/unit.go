package msl

import "strings"

// A unit is a parsed source. Its declarations name tokens by index.
type unit struct {
	toks      []token
	closes    map[int]int // index of an opening bracket -> of its closing one
	functions []*function
	variables []*variable
	types     map[string]bool // struct, enum, typedef, using and template parameter names
	errs      []diagnostic
}

// An attribute is one entry of [[name(arg)]].
type attribute struct {
	name, arg string
	line      int
}

// A param is one parameter of a function.
type param struct {
	tokens []int // attributes left out
	attrs  []attribute
	name   string
	space  string // device, constant, threadgroup, thread or ""
	indir  bool   // pointer or reference
	konst  bool   // data behind it cannot be written
	line   int
}

// A function is a definition, a declaration or an explicit instantiation at namespace scope.
type function struct {
	name      string // unqualified
	qualified string // with namespaces
	kernel    bool
	template  bool
	instance  string // explicit instantiation: "name<args>", "?" while it is parsed
	hostName  string
	attrs     []attribute
	params    []param
	first     int // first token of the declaration
	body      int // index of '{', or -1
	last      int // index of the closing '}' or ';'
	tgVars    []tgVar
	calls     map[string]int // callee name -> line
	line      int
}

// A tgVar is one threadgroup variable declared in a kernel's body.
type tgVar struct {
	first, last    int // tokens "threadgroup" ... ";"
	typ, name, dim string
	init           bool
	line           int
}

// A variable is one at namespace scope.
type variable struct {
	first, last  int
	constant     bool // has the constant address space
	constexprTok bool
	array        bool
	typ, name    string
	init         []int // tokens of the initialiser
	fc           int   // function constant index, or -1
	derived      bool  // its initialiser uses a function constant
	line         int
}

func (u *unit) file(f *function) string { return u.tok(f.first).file }

// tok gives token i, or none that means anything where the text has ended.
func (u *unit) tok(i int) token {
	if i < 0 || i >= len(u.toks) {
		return token{kind: kDirective}
	}
	return u.toks[i]
}

// is tells whether token i has this text.
func (u *unit) is(i int, text string) bool {
	return u.tok(i).text == text && u.tok(i).kind != kDirective
}

// isAny tells whether token i is one of words.
func (u *unit) isAny(i int, words ...string) bool {
	for _, w := range words {
		if u.is(i, w) {
			return true
		}
	}
	return false
}

func (u *unit) ident(i int) bool { return u.tok(i).kind == kIdent }

// span lists the tokens first to last.
func span(first, last int) []int {
	var idx []int
	for i := first; i <= last; i++ {
		idx = append(idx, i)
	}
	return idx
}

// text joins tokens without their line breaks.
func (u *unit) text(idx []int) string {
	var b strings.Builder
	for n, i := range idx {
		if n > 0 && u.tok(i).pre != "" {
			b.WriteByte(' ')
		}
		b.WriteString(u.tok(i).text)
	}
	return b.String()
}

// close returns the index of the bracket that closes the one at i, or of the last token.
func (u *unit) close(i int) int {
	if end, ok := u.closes[i]; ok {
		return end
	}
	return len(u.toks) - 1
}

// matchBrackets pairs round, square and curly brackets; which kind closes which is left to the compiler.
func matchBrackets(toks []token) map[int]int {
	closes := map[int]int{}
	var open []int
	for i, t := range toks {
		if t.kind != kPunct {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			if n := len(open); n > 0 {
				closes[open[n-1]], open = i, open[:n-1]
			}
		}
	}
	return closes
}

// closeAngle returns the index of the '>' that closes the '<' at i, or -1.
func (u *unit) closeAngle(i int) int {
	depth := 0
	for ; i < len(u.toks); i++ {
		switch u.tok(i).text {
		case "(", "[", "{":
			i = u.close(i)
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return i
			}
		case ";", "}":
			return -1
		}
	}
	return -1
}

// openAngle returns the index of the '<' that the '>' at i closes, not before first.
func (u *unit) openAngle(i, first int) int {
	depth := 0
	for ; i > first; i-- {
		if u.is(i, ">") {
			depth++
		} else if u.is(i, "<") {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return first
}

// skipBrackets returns the index of the bracket that closes the one at i, angle brackets included, or i when none
// opens there.
func (u *unit) skipBrackets(i int) int {
	switch {
	case u.isAny(i, "(", "[", "{"):
		return u.close(i)
	case u.is(i, "<"):
		if end := u.closeAngle(i); end > 0 {
			return end
		}
	}
	return i
}

// attributesAt parses [[...]] at i; end is the index after it, or i when there is none.
func (u *unit) attributesAt(i int) (list []attribute, end int) {
	if !u.is(i, "[") || !u.is(i+1, "[") {
		return nil, i
	}
	stop := u.close(i)
	for j := i + 2; j < stop-1; j++ {
		if !u.ident(j) {
			continue
		}
		a := attribute{name: u.tok(j).text, line: u.tok(j).line}
		if u.is(j+1, "(") {
			c := u.close(j + 1)
			a.arg = u.text(span(j+2, c-1))
			j = c
		}
		list = append(list, a)
	}
	return list, stop + 1
}
