package msl

// params parses the parameter list that opens at open.
func (u *unit) params(open int) []param {
	end := u.close(open)
	var list []param
	p := param{line: u.tok(open).line}
	flush := func() {
		if len(p.tokens) > 0 {
			u.describe(&p)
			list = append(list, p)
		}
	}
	for i := open + 1; i < end; i++ {
		if a, next := u.attributesAt(i); next > i {
			p.attrs = append(p.attrs, a...)
			i = next - 1
			continue
		}
		switch t := u.tok(i); {
		case t.kind == kDirective:
		case t.text == ",":
			flush()
			p = param{line: t.line}
		default:
			if len(p.tokens) == 0 {
				p.line = t.line
			}
			last := u.skipBrackets(i)
			p.tokens = append(p.tokens, span(i, last)...)
			i = last
		}
	}
	flush()
	return list
}

// describe reads name, address space and constness off a parameter's tokens.
func (u *unit) describe(p *param) {
	for n := len(p.tokens) - 1; n > 0; n-- { // the name is the last identifier
		if i := p.tokens[n]; u.ident(i) {
			p.name = u.tok(i).text
			break
		}
	}
	for _, i := range p.tokens {
		switch t := u.tok(i).text; t {
		case "device", "constant", "threadgroup", "thread":
			p.space = t
			p.konst = p.konst || t == "constant"
		case "const":
			p.konst = true
		case "*", "&":
			p.indir = true
		}
	}
}
