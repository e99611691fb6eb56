package msl

// dependent: the address space may hide in a template parameter used alone ("T x" with T a pointer type); a written *
// or & always needs one.
func (u *unit) dependent(p param) bool {
	for _, i := range p.tokens {
		if u.is(i, "&&") {
			return true
		}
	}
	return false
}

// lintSignature checks that pointers and references among parameters and results have an address space, and that
// kernels return void.
func (u *unit) lintSignature(f *function) {
	file := u.file(f)
	for i, p := range f.params {
		if p.indir && p.space == "" && !u.dependent(p) {
			u.fail(p.line, file, "address-space",
				"parameter %d (%q) of %s: pointer or reference without device, constant, threadgroup or thread",
				i+1, p.name, f.name)
		}
	}
	indir, space := u.resultKind(f)
	if indir && !space {
		u.fail(f.line, file, "address-space", "%s returns a pointer or reference without an address space", f.name)
	}
	if !f.kernel || f.instance != "" {
		return
	}
	for i := f.first; i < len(u.toks) && !u.is(i, "("); i++ {
		if u.is(i+1, f.name) && u.is(i+2, "(") && !u.is(i, "void") {
			u.fail(f.line, file, "kernel", "kernel %s must return void", f.name)
		}
	}
}

// resultKind tells whether a function's result is a pointer or reference, and whether it names an address space.
func (u *unit) resultKind(f *function) (indir, space bool) {
	for i := f.first; i < len(u.toks) && !u.isAny(i, "(", "operator"); i++ {
		if _, end := u.attributesAt(i); end > i {
			i = end - 1
			continue
		}
		if u.is(i, "template") && u.is(i+1, "<") {
			i = u.skipBrackets(i + 1)
			continue
		}
		indir = indir || u.isAny(i, "*", "&")
		space = space || isSpace(u.tok(i).text)
	}
	return indir, space
}

// lintPointers checks local declarations and casts.
func (u *unit) lintPointers(f *function) {
	file := u.file(f)
	for i := f.body; i < f.last; i++ {
		switch {
		case u.is(i, "static") && u.ident(i) && !u.is(i+1, "constexpr"):
			u.fail(u.tok(i).line, file, "static-local", "%s: static local variables do not exist in MSL", f.name)
		case u.isAny(i, ";", "{", "}", "("):
			u.lintDeclaration(f, i)
		case u.isAny(i, "static_cast", "reinterpret_cast", "const_cast") && u.is(i+1, "<"):
			u.lintCast(f, i)
		}
	}
}

// lintDeclaration looks at what starts after token i: [const] type (*|&)+ name, as a statement, in a for or in a cast.
func (u *unit) lintDeclaration(f *function, i int) {
	j := i + 1
	for j < f.last && (u.isAny(j, "const", "volatile", "constexpr") || u.tok(j).kind == kDirective) {
		j++
	}
	if j >= f.last || !u.isType(j) {
		return
	}
	k := u.skipType(j)
	stars := k
	for u.isAny(stars, "*", "&", "const") {
		stars++
	}
	if stars == k {
		return
	}
	line, file := u.tok(j).line, u.file(f)
	name := u.tok(stars).text
	statement := !u.is(i, "(") && !isSpace(name) && u.isAny(stars+1, "=", ";", ",", "[", ":")
	loop := u.is(i, "(") && u.is(i-1, "for")
	switch {
	case u.is(i, "(") && u.is(stars, ")"):
		u.fail(line, file, "address-space", "cast to a pointer without an address space")
	case u.ident(stars) && (statement || loop):
		u.fail(line, file, "address-space", "local %q: pointer or reference without an address space", name)
	}
}

// lintCast checks the type of a named cast.
func (u *unit) lintCast(f *function, i int) {
	indir, space := false, false
	for j := i + 2; j < u.closeAngle(i+1); j++ {
		indir = indir || u.isAny(j, "*", "&")
		space = space || isSpace(u.tok(j).text)
	}
	if indir && !space {
		u.fail(u.tok(i).line, u.file(f), "address-space", "%s to a pointer without an address space", u.tok(i).text)
	}
}

func (u *unit) skipType(i int) int {
	i++
	for u.is(i, "::") || u.is(i-1, "unsigned") && u.isType(i) {
		i++
	}
	if u.is(i, "<") {
		if e := u.closeAngle(i); e > 0 {
			i = e + 1
		}
	}
	return i
}
