package msl

// qualifiers replaces the address-space words, kernel and vector constructors.
func (u *unit) qualifiers(out []string, to target) {
	for i, t := range u.toks {
		if t.kind != kIdent || out[i] == "" {
			continue
		}
		if to == targetCheck {
			switch t.text {
			case "device":
				out[i] = "__global"
			case "threadgroup":
				out[i] = "__local"
			case "thread":
				out[i] = "__private"
			case "constant":
				out[i] = "__constant"
			case "kernel":
				out[i] = "static"
			case "constexpr":
				if u.is(i-1, "constant") || u.is(i+1, "constant") {
					out[i] = "const"
				}
			default:
				if vectorType(t.text) && u.is(i+1, "(") {
					out[i] = "make_" + t.text // OpenCL C++ has no functional constructor with several values
				}
			}
			continue
		}
		switch t.text {
		case "device", "threadgroup", "thread":
			out[i] = ""
		case "constant":
			out[i] = "const"
			if u.is(i-1, "const") || u.is(i+1, "const") {
				out[i] = ""
			}
		case "kernel":
			out[i] = "static"
		}
	}
}

func vectorType(s string) bool {
	n := len(s)
	if n < 4 || s[n-1] < '2' || s[n-1] > '4' {
		return false
	}
	switch s[:n-1] {
	case "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "half", "bfloat":
		return true
	}
	return false
}
