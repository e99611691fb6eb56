package msl

import (
	"fmt"
	"strings"
)

// hostEntries writes one C entry point per kernel. The types of the arguments come from the C++ type of the kernel, so
// that templates, typedefs and macros need no understanding of text.
func (u *unit) hostEntries(b *strings.Builder, kernels []kernel) {
	b.WriteString("\n#line 1 \"entry points\"\n")
	for _, k := range kernels {
		fmt.Fprintf(b, "static void msl_thread_%s(const msl_rt::Lane &t) {\n", k.name)
		fmt.Fprintf(b, "  using F = ::msl::fn<decltype(&%s)>; const ::msl::builtin b(t); (void)b;\n", k.expr)
		fmt.Fprintf(b, "  %s(%s);\n}\n", k.expr, k.pass(func(i int, a Argument) string {
			return fmt.Sprintf("::msl::%s_argument<F::arg<%d>>(t, %d)", a.Kind, i, a.Index)
		}))
		fmt.Fprintf(b, "static int msl_kernel_%s(msl_dispatch *d) {\n", k.name)
		fmt.Fprintf(b, "  return msl_rt::msl_run(d, msl_thread_%s, %q);\n}\n", k.name, k.name)
	}
	u.table(b, kernels)
}

// cudaEntries writes one __global__ function per kernel. MSL_ONLY and MSL_ONLY_name compile kernel name alone.
func (u *unit) cudaEntries(b *strings.Builder, kernels []kernel) {
	b.WriteString("\n#line 1 \"entry points\"\n")
	for _, k := range kernels {
		bounds := "" // without the attribute, as on Metal, registers decide how many threads fit
		if k.max > 0 {
			bounds = fmt.Sprintf("__launch_bounds__(%d) ", k.max)
		}
		expr := "metal::msl_user::" + k.expr
		fmt.Fprintf(b, "#if !defined(MSL_ONLY) || defined(MSL_ONLY_%s)\n", k.name)
		fmt.Fprintf(b, "extern \"C\" __global__ void %s%s(const __grid_constant__ msl_cuda_args a) {\n", bounds, k.name)
		b.WriteString("  if (!::msl::in_grid(a)) return;\n  using namespace metal;\n")
		fmt.Fprintf(b, "  using F = ::msl::fn<decltype(&%s)>; const ::msl::builtin b(a); (void)b;\n", expr)
		fmt.Fprintf(b, "  %s(%s);\n}\n", expr, k.pass(func(i int, arg Argument) string {
			if arg.Kind == "buffer" {
				return fmt.Sprintf("::msl::from_address<F::arg<%d>>::get(a.buffer[%d])", i, arg.Index)
			}
			return fmt.Sprintf("::msl::threadgroup_argument<F::arg<%d>>(a, %d)", i, arg.Index)
		}))
		b.WriteString("#endif\n")
	}
}

// pass writes the arguments of a call of k: builtins by attribute, the others as memory says.
func (k kernel) pass(memory func(i int, a Argument) string) string {
	var list []string
	for i, a := range k.args {
		if a.Kind == "builtin" {
			list = append(list, fmt.Sprintf("b.%s<F::arg<%d>>()", a.Attribute, i))
		} else {
			list = append(list, memory(i, a))
		}
	}
	return strings.Join(list, ", ")
}
