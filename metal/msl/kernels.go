package msl

import (
	"strconv"
	"strings"
)

// A kernel is one entry point, with the definition that carries its attributes.
type kernel struct {
	name string // entry point name
	expr string // C++ expression that names the function
	def  *function
	args []Argument
	max  int // max_total_threads_per_threadgroup, 0: none
}

// kernels lists the entry points: plain kernels, then explicit instantiations.
func (u *unit) kernels() []kernel {
	defs := map[string]*function{}
	var list []kernel
	for _, f := range u.functions {
		if f.kernel && f.body >= 0 {
			defs[f.name] = f
			if !f.template {
				list = append(list, kernel{name: f.name, expr: f.qualified, def: f})
			}
		}
	}
	for _, f := range u.functions {
		def := defs[f.name]
		if f.instance == "" || f.instance == "?" || def == nil {
			continue
		}
		k := kernel{name: f.name, expr: strings.TrimSuffix(f.qualified, f.name) + f.instance, def: def}
		if f.hostName != "" {
			k.name = f.hostName
		}
		list = append(list, k)
	}
	for i := range list {
		u.readAttributes(&list[i])
	}
	return list
}

// readAttributes fills in what the attributes of a kernel and its parameters say.
func (u *unit) readAttributes(k *kernel) {
	for _, a := range k.def.attrs {
		if a.name == "max_total_threads_per_threadgroup" {
			k.max, _ = strconv.Atoi(a.arg)
		}
	}
	for _, p := range k.def.params {
		arg := u.argument(k, p)
		if arg.Kind == "" {
			u.fail(p.line, u.file(k.def), "attribute", "kernel parameter %q has no attribute that the emulator knows", p.name)
		}
		k.args = append(k.args, arg)
	}
}

func (u *unit) argument(k *kernel, p param) Argument {
	arg := Argument{Name: p.name, Index: -1}
	for _, a := range p.attrs {
		switch {
		case a.name == "buffer" || a.name == "threadgroup":
			n, err := strconv.Atoi(a.arg)
			if err != nil {
				u.fail(p.line, u.file(k.def), "attribute", "[[%s(%s)]]: index must be a plain number", a.name, a.arg)
			}
			arg.Kind, arg.Index = a.name, n
			arg.Writable = a.name == "buffer" && !p.konst
		case builtins[a.name] != nil:
			arg.Kind, arg.Attribute = "builtin", a.name
		}
	}
	return arg
}
