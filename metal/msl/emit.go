package msl

import (
	"fmt"
	"strings"
)

// A target is what a unit is translated to.
type target uint8

const (
	targetHost  target = iota // clang, msl_host.h
	targetCUDA                // NVRTC, msl_cuda.h
	targetCheck               // clang -x clcpp, msl_check.h: address spaces are real
)

// emit prints the unit for one target. The kernels' own text is kept, token by token; only what C++ cannot express is
// replaced (README.md, "Translation").
func (u *unit) emit(to target, kernels []kernel, name string) string {
	out := u.replacements(to)
	var b strings.Builder
	switch to {
	case targetHost:
		fmt.Fprintf(&b, "// Translated from %s.\n#include \"msl_host.h\"\n", name)
	case targetCUDA:
		fmt.Fprintf(&b, "// Translated from %s.\n", name)
		if u.mentions("thread_elements") { // the source relies on Apple's lane order
			b.WriteString("#define MSL_APPLE_LANES 1\n")
		}
		b.WriteString("#include \"msl_cuda.h\"\nnamespace metal { namespace msl_user {\n")
	case targetCheck:
		fmt.Fprintf(&b, "// Translated from %s to check its address spaces.\n#include \"msl_check.h\"\n", name)
	}
	for i, t := range u.toks {
		b.WriteString(t.pre)
		b.WriteString(out[i])
	}
	switch to {
	case targetHost:
		u.hostEntries(&b, kernels)
	case targetCUDA:
		b.WriteString("\n}}  // namespace metal::msl_user\n")
		u.cudaEntries(&b, kernels)
	case targetCheck:
		instantiate(&b, kernels)
	}
	return b.String()
}

// replacements gives the text of every token for one target.
func (u *unit) replacements(to target) []string {
	out := make([]string, len(u.toks))
	for i, t := range u.toks {
		switch {
		case t.kind == kNumber:
			out[i] = literal(t.text, to)
		case t.kind == kDirective && foreignPragma(t.text, to):
		default:
			out[i] = t.text
		}
	}
	for i := 0; i < len(u.toks); i++ {
		if _, end := u.attributesAt(i); end > i {
			u.blank(out, i, end-1)
			i = end - 1
		}
	}
	u.qualifiers(out, to)
	for _, f := range u.functions {
		if f.instance != "" {
			u.blank(out, f.first, f.last) // explicit instantiations: the entry points instantiate
		}
		u.threadgroupStorage(out, f, to)
	}
	for _, v := range u.variables {
		u.programScope(out, v, to)
	}
	return out
}

// blank removes tokens first to last but for line markers.
func (u *unit) blank(out []string, first, last int) {
	for j := first; j <= last; j++ {
		if u.tok(j).kind != kDirective {
			out[j] = ""
		}
	}
}

// foreignPragma tells whether a directive is a pragma that target to would not understand.
func foreignPragma(text string, to target) bool {
	if !strings.HasPrefix(text, "#pragma") {
		return false
	}
	return strings.Contains(text, "METAL") || to != targetHost && !strings.Contains(text, "unroll")
}

func (u *unit) mentions(word string) bool {
	for _, t := range u.toks {
		if t.text == word {
			return true
		}
	}
	return false
}

// instantiate makes the address-space check look into templates too.
func instantiate(b *strings.Builder, kernels []kernel) {
	for _, k := range kernels {
		if k.expr != k.def.qualified {
			fmt.Fprintf(b, "\ntemplate decltype(%s) %s;", k.expr, k.expr)
		}
	}
	b.WriteString("\n")
}
