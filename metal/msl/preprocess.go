package msl

import (
	"errors"
	"fmt"
)

// preprocess expands macros and conditionals. The metal_* headers are empty stubs: the shim's header comes first in
// what is generated.
func (t *Toolchain) preprocess(s Source) (string, error) {
	stubs, err := t.stubsFolder()
	if err != nil {
		return "", err
	}
	args := append([]string{"-E", "-x", "c++", "-std=c++17", "-undef", "-nostdinc", "-nostdinc++", "-I", stubs},
		s.defines()...)
	out, messages, err := t.run(fmt.Sprintf("#line 1 %q\n%s", s.name(), s.Text), append(args, "-")...)
	if errors.Is(err, ErrNoCompiler) {
		return "", err
	}
	if err != nil {
		return "", compileError(nil, messages)
	}
	return string(out), nil
}
