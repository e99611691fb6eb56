package msl

import (
	"strconv"
	"strings"
)

// kernels pairs every entry point with the definition that carries its attributes.
type kernel struct {
	name string // entry point name
	expr string // C++ expression that names the function
	def  *function
	args []Argument
	max  int // max_total_threads_per_threadgroup, 0: none
}

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
		if f.instance == "" || f.instance == "?" {
			continue
		}
		if def := defs[f.name]; def != nil {
			name := f.hostName
			if name == "" {
				name = f.name
			}
			expr := strings.TrimSuffix(f.qualified, f.name) + f.instance
			list = append(list, kernel{name: name, expr: expr, def: def})
		}
	}
	for i := range list {
		k := &list[i]
		for _, a := range k.def.attrs {
			if a.name == "max_total_threads_per_threadgroup" {
				k.max, _ = strconv.Atoi(a.arg)
			}
		}
		for _, p := range k.def.params {
			arg := Argument{Name: p.name, Index: -1}
			for _, a := range p.attrs {
				switch {
				case a.name == "buffer" || a.name == "threadgroup":
					arg.Kind = a.name
					n, err := strconv.Atoi(a.arg)
					if err != nil {
						u.fail(p.line, u.file(k.def), "attribute", "[[%s(%s)]]: index must be a plain number", a.name, a.arg)
					}
					arg.Index = n
					arg.Writable = a.name == "buffer" && !p.konst
				case builtins[a.name] != nil:
					arg.Kind, arg.Attribute = "builtin", a.name
				}
			}
			if arg.Kind == "" {
				u.fail(p.line, u.file(k.def), "attribute", "kernel parameter %q has no attribute that the emulator knows", p.name)
			}
			k.args = append(k.args, arg)
		}
	}
	return list
}

func (u *unit) file(f *function) string { return u.toks[f.first].file }
