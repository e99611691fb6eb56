package msl

// scanBody finds threadgroup variables and calls in a function's body.
func (u *unit) scanBody(f *function) {
	for i := f.body + 1; i < f.last; i++ {
		if !u.ident(i) {
			continue
		}
		t := u.tok(i)
		switch {
		case t.text == "threadgroup" && u.isStorage(i):
			vars, end := u.threadgroupVars(i)
			f.tgVars = append(f.tgVars, vars...)
			i = end
		case u.is(i+1, "("):
			if _, seen := f.calls[t.text]; !seen && !u.isAny(i-1, ".", "->") {
				f.calls[t.text] = t.line
			}
		case u.is(i+1, "<"):
			if e := u.closeAngle(i + 1); e > 0 && u.is(e+1, "(") {
				f.calls[t.text] = t.line
			}
		}
	}
}

// isStorage tells a threadgroup variable from a pointer or reference into threadgroup memory, or a template argument.
func (u *unit) isStorage(i int) bool {
	if u.isAny(i-1, "<", ",") {
		return false
	}
	for j := i + 1; j < len(u.toks); j++ {
		switch u.tok(j).text {
		case "<":
			j = u.skipBrackets(j)
		case "*", "&", ")", "&&":
			return false
		case ";", "[", "=", ",", "{":
			return true
		}
	}
	return false
}

// threadgroupVars parses "threadgroup type a[n], b;" at first; end is the index of the semicolon.
func (u *unit) threadgroupVars(first int) (vars []tgVar, end int) {
	end = u.semicolon(first)
	typ := ""
	for n, part := range u.declarators(first+1, end) {
		at := u.declaredName(part)
		if at < 0 {
			continue
		}
		if n == 0 {
			typ = u.text(part[:at]) // what precedes the first name
		}
		v := tgVar{first: first, last: end, typ: typ, name: u.tok(part[at]).text, line: u.tok(first).line}
		rest := part[at+1:]
		for k, j := range rest {
			if u.isAny(j, "=", "{") {
				v.init = true
				rest = rest[:k]
				break
			}
		}
		v.dim = u.text(rest)
		vars = append(vars, v)
	}
	return vars, end
}

// declarators splits tokens first to end-1 at commas outside brackets.
func (u *unit) declarators(first, end int) [][]int {
	parts := [][]int{nil}
	for j := first; j < end; j++ {
		if u.is(j, ",") {
			parts = append(parts, nil)
			continue
		}
		last := u.skipBrackets(j)
		parts[len(parts)-1] = append(parts[len(parts)-1], span(j, last)...)
		j = last
	}
	return parts
}

// declaredName finds, in a declarator, the identifier before '[', '=', '{' or the end; -1 when there is none.
func (u *unit) declaredName(part []int) int {
	at := -1
	for k, j := range part {
		if u.isAny(j, "[", "=", "{") {
			break
		}
		if u.ident(j) {
			at = k
		}
	}
	return at
}
