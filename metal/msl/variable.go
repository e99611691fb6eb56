package msl

import "strconv"

// variable parses a variable at namespace scope; equals is the index of its '=', or -1.
func (u *unit) variable(f *function, equals int) {
	v := &variable{first: f.first, last: f.last, fc: -1}
	stop := f.last
	if equals >= 0 {
		stop = equals
		v.init = span(equals+1, f.last-1)
	}
	for _, a := range f.attrs {
		if a.name == "function_constant" {
			v.fc, _ = strconv.Atoi(a.arg)
		}
	}
	typ, name := u.typeAndName(v, stop)
	if name < 0 {
		return
	}
	v.name, v.line = u.tok(name).text, u.tok(name).line
	if n := len(typ); n > 0 && typ[n-1] == name {
		typ = typ[:n-1]
	}
	v.typ = u.text(typ)
	u.variables = append(u.variables, v)
}

// typeAndName reads what stands before token stop: the tokens of the type, and the last identifier.
func (u *unit) typeAndName(v *variable, stop int) (typ []int, name int) {
	name = -1
	for j := v.first; j < stop; j++ {
		if _, next := u.attributesAt(j); next > j {
			j = next - 1
			continue
		}
		switch t := u.tok(j); {
		case t.kind == kDirective:
		case t.text == "constant":
			v.constant = true
		case t.text == "constexpr":
			v.constexprTok = true
		case u.isAny(j, "const", "static", "inline"):
		case u.isAny(j, "[", "{"):
			v.array = v.array || t.text == "["
			j = u.close(j)
		default:
			typ = append(typ, j)
			if t.kind == kIdent {
				name = j
			}
		}
	}
	return typ, name
}

// findDerived marks program-scope constants whose value depends on function constants.
func (u *unit) findDerived() {
	dynamic := map[string]bool{}
	for _, v := range u.variables {
		if v.fc >= 0 {
			dynamic[v.name] = true
			continue
		}
		for _, i := range v.init {
			if dynamic[u.tok(i).text] {
				v.derived = true
				dynamic[v.name] = true
			}
		}
	}
}
