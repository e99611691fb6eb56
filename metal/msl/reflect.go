package msl

import (
	"fmt"
	"strings"
)

// A Reflection describes the kernels of a source, as Metal's own pipeline reflection would.
type Reflection struct {
	Kernels   []Kernel           `json:"kernels"`
	Constants []FunctionConstant `json:"constants,omitempty"`
}

// A Kernel is one entry point.
type Kernel struct {
	Name      string     `json:"name"`
	Arguments []Argument `json:"args"`
	// MaxThreads is max_total_threads_per_threadgroup, 0 when the attribute is missing.
	MaxThreads int `json:"max_threads,omitempty"`
}

// An Argument is one parameter of a kernel.
type Argument struct {
	Name string `json:"name"`
	// Kind is "buffer", "threadgroup" or "builtin".
	Kind string `json:"kind"`
	// Index is the n of [[buffer(n)]] or [[threadgroup(n)]], -1 for a builtin, whose attribute is Attribute.
	Index     int    `json:"index"`
	Attribute string `json:"attribute,omitempty"`
	// Writable tells that the kernel may write the buffer: it is neither const nor constant.
	Writable bool `json:"writable,omitempty"`
}

// A FunctionConstant is one function constant.
type FunctionConstant struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Index int    `json:"index"`
}

func (u *unit) reflect(kernels []kernel) Reflection {
	var r Reflection
	for _, k := range kernels {
		r.Kernels = append(r.Kernels, Kernel{k.name, k.args, k.max})
	}
	for _, v := range u.variables {
		if v.fc >= 0 {
			r.Constants = append(r.Constants, FunctionConstant{v.name, v.typ, v.fc})
		}
	}
	return r
}

// table writes the reflection as the C tables that the emulator's caller reads (msl_host_rt.h: struct msl_kernel).
func (u *unit) table(b *strings.Builder, kernels []kernel) {
	for _, k := range kernels {
		fmt.Fprintf(b, "static const msl_argument msl_arguments_%s[] = {", k.name)
		for _, a := range k.args {
			if a.Kind != "builtin" {
				fmt.Fprintf(b, "{%q, %t, %d, %t}, ", a.Name, a.Kind == "threadgroup", a.Index, a.Writable)
			}
		}
		b.WriteString("{0, false, -1, false}};\n")
	}
	b.WriteString("extern \"C\" __attribute__((visibility(\"default\"))) const msl_kernel msl_kernels[] = {\n")
	for _, k := range kernels {
		fmt.Fprintf(b, "  {%q, msl_kernel_%s, %s(), %d, msl_arguments_%s},\n", k.name, k.name, k.bytesFunction(), k.max,
			k.name)
	}
	b.WriteString("  {0, 0, 0, 0, 0}};\n")
	b.WriteString("extern \"C\" __attribute__((visibility(\"default\"))) const msl_constant msl_constants[] = {")
	for _, v := range u.variables {
		if v.fc >= 0 {
			fmt.Fprintf(b, "{%q, %q, %d}, ", v.name, v.typ, v.fc)
		}
	}
	b.WriteString("{0, 0, -1}};\n")
}

// bytesFunction names the function that staticBytes wrote, with k's namespaces and template arguments.
func (k kernel) bytesFunction() string {
	path := strings.TrimSuffix(k.def.qualified, k.def.name)
	args := ""
	if i := strings.Index(k.expr, "<"); i >= 0 {
		args = k.expr[i:]
	}
	return path + bytesFunction(k.def.name) + args
}
