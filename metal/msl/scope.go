package msl

import (
	"fmt"
	"strings"
)

// programScope rewrites one constant or function constant at namespace scope.
func (u *unit) programScope(out []string, v *variable, to target) {
	init := ""
	for _, i := range v.init {
		init += " " + out[i]
	}
	switch {
	case v.fc >= 0 || v.derived && (v.constant || to == targetCheck):
		u.blank(out, v.first, v.last)
		out[v.first] = u.specialised(v, to, init)
	case v.constant && to != targetCheck:
		u.plainConstant(out, v, to)
	}
}

// specialised declares a constant whose value is known when a pipeline is made: read from the running dispatch in the
// emulator, a macro of the specialised module in CUDA.
func (u *unit) specialised(v *variable, to target, init string) string {
	switch {
	case to == targetCheck:
		return fmt.Sprintf("extern __constant %s %s;", v.typ, v.name)
	case v.derived && to == targetHost:
		return fmt.Sprintf("static struct { using msl_constant = %[1]s; "+
			"MSL_FN operator %[1]s() const { return%[2]s; } } %[3]s;", v.typ, init, v.name)
	case v.derived:
		return fmt.Sprintf("static constexpr %s %s =%s;", v.typ, v.name, init)
	case to == targetHost:
		return fmt.Sprintf("static ::msl::function_constant<%s, %d> %s;", v.typ, v.fc, v.name)
	}
	declare := func(defined bool, value string) string {
		return fmt.Sprintf("static constexpr bool %[1]s_msl_defined = %[2]t; static constexpr %[3]s %[1]s = %[4]s;\n",
			v.name, defined, v.typ, value)
	}
	given := fmt.Sprintf("::msl::constant_value<%s>(MSL_CONSTANT_%d, MSL_CONSTANT_FLOAT_%d)", v.typ, v.fc, v.fc)
	return fmt.Sprintf("\n#ifdef MSL_CONSTANT_%d\n%s#else\n%s#endif\n#line %d\n", v.fc, declare(true, given),
		declare(false, v.typ+"(0)"), u.tok(v.last).line)
}

// plainConstant gives a constant the storage of its target.
func (u *unit) plainConstant(out []string, v *variable, to target) {
	for j := v.first; j < v.last; j++ {
		if u.is(j, "constant") {
			out[j] = constantStorage(v, to)
			break
		}
	}
	if to != targetCUDA && !v.constexprTok {
		return
	}
	for j := v.first; j < v.last && !u.is(j, "="); j++ { // a const beside constexpr is redundant
		if u.is(j, "const") || u.is(j, "static") {
			out[j] = ""
		}
	}
}

func constantStorage(v *variable, to target) string {
	words := []string{"static"}
	if to == targetCUDA && v.array {
		words = append(words, "__device__")
	}
	switch {
	case v.constexprTok:
	case to == targetCUDA:
		words = append(words, "constexpr")
	default:
		words = append(words, "const")
	}
	return strings.Join(words, " ")
}
