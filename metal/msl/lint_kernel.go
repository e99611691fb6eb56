package msl

import (
	"slices"
	"strconv"
)

// builtins maps every kernel-input attribute to the vector widths that it may have.
var builtins = map[string][]int{
	"thread_position_in_grid": {1, 2, 3}, "thread_position_in_threadgroup": {1, 2, 3},
	"threadgroup_position_in_grid": {1, 2, 3}, "threads_per_threadgroup": {1, 2, 3},
	"dispatch_threads_per_threadgroup": {1, 2, 3}, "threads_per_grid": {1, 2, 3},
	"threadgroups_per_grid": {1, 2, 3}, "grid_origin": {1, 2, 3}, "grid_size": {1, 2, 3},
	"thread_index_in_threadgroup": {1}, "thread_index_in_simdgroup": {1}, "simdgroup_index_in_threadgroup": {1},
	"simdgroups_per_threadgroup": {1}, "dispatch_simdgroups_per_threadgroup": {1}, "threads_per_simdgroup": {1},
	"thread_execution_width": {1}, "thread_index_in_quadgroup": {1}, "quadgroup_index_in_threadgroup": {1},
	"quadgroups_per_threadgroup": {1},
}

// otherAttributes are valid in a compute source and need no translation.
var otherAttributes = words(`kernel buffer threadgroup host_name function_constant max_total_threads_per_threadgroup
	unroll maybe_unused nodiscard fallthrough id user_annotation required_threads_per_threadgroup`)

func (u *unit) lintAttributes() {
	for i := range u.toks {
		list, _ := u.attributesAt(i)
		for _, a := range list {
			if builtins[a.name] == nil && !otherAttributes[a.name] {
				u.fail(a.line, u.tok(i).file, "attribute",
					"[[%s]]: not an attribute of compute functions that is known here", a.name)
			}
		}
	}
}

// lintKernel checks the arguments of an entry point.
func (u *unit) lintKernel(k kernel) {
	file := u.file(k.def)
	seen := map[string]string{}
	width := 0
	for i, p := range k.def.params {
		arg := k.args[i]
		key := arg.Kind + strconv.Itoa(arg.Index)
		if arg.Kind == "builtin" {
			key = arg.Attribute
			width = u.lintBuiltin(file, p, arg, width)
		} else {
			u.lintMemory(file, p, arg)
		}
		if other, dup := seen[key]; dup && arg.Kind != "" {
			u.fail(p.line, file, "attribute", "%s and %s have the same %s", other, p.name, key)
		}
		seen[key] = p.name
	}
	if k.max > 1024 {
		u.fail(k.def.line, file, "attribute", "max_total_threads_per_threadgroup(%d): at most 1024", k.max)
	}
}

func (u *unit) lintMemory(file string, p param, arg Argument) {
	if arg.Kind != "" && (arg.Index < 0 || arg.Index > 30) {
		u.fail(p.line, file, "attribute", "%s: %s(%d): indices run from 0 to 30", p.name, arg.Kind, arg.Index)
	}
	if arg.Kind == "buffer" && (p.space != "device" && p.space != "constant" || !p.indir) {
		u.fail(p.line, file, "attribute", "%s: a buffer argument is a device or constant pointer or reference", p.name)
	}
	if arg.Kind == "threadgroup" && (p.space != "threadgroup" || !p.indir) {
		u.fail(p.line, file, "attribute", "%s: [[threadgroup(n)]] needs a threadgroup pointer", p.name)
	}
}

// lintBuiltin checks the type of a builtin argument. All position attributes of a kernel have one width, which is
// passed on.
func (u *unit) lintBuiltin(file string, p param, arg Argument, width int) int {
	w := u.builtinWidth(p)
	if w < 0 {
		u.fail(p.line, file, "attribute", "%s: [[%s]] must be ushort or uint, or a vector of them", p.name, arg.Attribute)
		return width
	}
	if !slices.Contains(builtins[arg.Attribute], w) {
		u.fail(p.line, file, "attribute", "%s: [[%s]] cannot have %d components", p.name, arg.Attribute, w)
	}
	if len(builtins[arg.Attribute]) == 1 {
		return width
	}
	if width != 0 && width != w {
		u.fail(p.line, file, "attribute",
			"%s: all position attributes of a kernel must have the same number of components", p.name)
	}
	return w
}

func (u *unit) builtinWidth(p param) int {
	for _, i := range p.tokens {
		switch u.tok(i).text {
		case "ushort", "uint", "uint16_t", "uint32_t":
			return 1
		case "ushort2", "uint2":
			return 2
		case "ushort3", "uint3":
			return 3
		}
	}
	return -1
}
