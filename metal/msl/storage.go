package msl

import (
	"fmt"
	"strings"
)

// threadgroupStorage rewrites the threadgroup variables of a kernel: references into the threadgroup's memory in the
// emulator, __shared__ arrays in CUDA. A static_assert adds up the bytes.
func (u *unit) threadgroupStorage(out []string, f *function, to target) {
	total := ""
	for n := 0; n < len(f.tgVars); {
		first, last := f.tgVars[n].first, f.tgVars[n].last
		end := n
		for end < len(f.tgVars) && f.tgVars[end].first == first {
			total += f.tgVars[end].bytes()
			end++
		}
		check := fmt.Sprintf("static_assert(0%s <= 32768, \"threadgroup memory: more than 32768 bytes\");", total)
		if to == targetCUDA {
			out[first], out[last] = "__shared__ __align__(16)", "; "+check
		} else {
			u.blank(out, first, last)
			out[first] = declareStorage(f.tgVars[n:end], n, to)
			if to == targetHost {
				out[first] += check
			}
		}
		n = end
	}
	if to == targetHost && f.kernel && f.body >= 0 && f.instance == "" {
		out[f.last] += u.staticBytes(f, total)
	}
}

// declareStorage declares the variables of one statement, the first of which is number n of its kernel.
func declareStorage(vars []tgVar, n int, to target) string {
	var b strings.Builder
	for i, v := range vars {
		if to == targetHost {
			fmt.Fprintf(&b, "auto &%s = ::msl::threadgroup_variable<%s%s>(%d); ", v.name, v.typ, v.dim, n+i)
		} else { // OpenCL allows __local variables in __kernel functions only
			fmt.Fprintf(&b, "__local %[2]s (&%[1]s)%[3]s = *(__local %[2]s (*)%[3]s)0; ", v.name, v.typ, v.dim)
		}
	}
	return b.String()
}

// bytes is a term of a sum: the space that v takes, every variable on 16 bytes.
func (v tgVar) bytes() string {
	return fmt.Sprintf(" + (sizeof(%s%s) + 15) / 16 * 16", v.typ, v.dim)
}

// staticBytes writes a function beside kernel f that gives its static threadgroup memory, for the pipeline's
// staticThreadgroupMemoryLength. The sum may use template arguments and constants declared in the kernel's body, so
// the function has the same template parameters and repeats the declarations that the sum needs.
func (u *unit) staticBytes(f *function, total string) string {
	header := ""
	if f.template {
		var idx []int
		for i := f.first; i <= u.closeAngle(f.first+1); i++ {
			idx = append(idx, i)
		}
		header = u.text(idx) + " "
	}
	locals := ""
	if total != "" {
		locals = u.localConstants(f, total)
	}
	return fmt.Sprintf(" %sstatic constexpr unsigned %s() { %sreturn unsigned(0%s); }", header, bytesFunction(f.name),
		locals, total)
}

func bytesFunction(kernel string) string { return kernel + "_msl_static_bytes" }

// localConstants repeats the const, constexpr and using declarations at the top level of f's body whose names occur in
// text or in a declaration repeated after them.
func (u *unit) localConstants(f *function, text string) string {
	var kept []string
	wanted := map[string]bool{}
	note := func(text string) {
		for _, t := range lex(text, "") {
			wanted[t.text] = true
		}
	}
	note(text)
	statements := u.bodyStatements(f)
	for i := len(statements) - 1; i >= 0; i-- {
		s := statements[i]
		if !u.is(s[0], "const") && !u.is(s[0], "constexpr") && !u.is(s[0], "using") {
			continue
		}
		for n, j := range s {
			if u.is(j, "=") && n > 0 && wanted[u.tok(s[n-1]).text] {
				kept = append([]string{u.text(s)}, kept...)
				note(u.text(s[n+1:]))
				break
			}
		}
	}
	return strings.Join(append(kept, ""), " ")
}

// bodyStatements lists the statements at the top level of f's body that end with a semicolon, which is included.
func (u *unit) bodyStatements(f *function) [][]int {
	var list [][]int
	var s []int
	for i := f.body + 1; i < f.last; i++ {
		switch {
		case u.tok(i).kind == kDirective:
		case u.is(i, "{"):
			i, s = u.close(i), nil
		case u.is(i, ";"):
			list, s = append(list, append(s, i)), nil
		default:
			s = append(s, i)
		}
	}
	return list
}
