package msl

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// A Translation is what became of a source.
type Translation struct {
	// Host is C++ for the emulator, CUDA is CUDA C++ for NVRTC; spaces is the text whose address spaces clang checks.
	Host, CUDA string
	Reflection Reflection
	// Warnings are lint findings that Apple's compiler would accept, or that the emulator does not cover.
	Warnings []driver.Problem

	spaces string
	key    string
}

// Translate lints s and translates it. Mistakes in the text come back as a *driver.CompileError.
func (t *Toolchain) Translate(s Source) (*Translation, error) {
	key := digest(s.key(), ownDigest())
	path, err := t.cached(key+".json", func(out string) error {
		tr, err := t.translate(s)
		if err != nil {
			return err
		}
		text, err := json.Marshal(tr)
		if err != nil {
			return err
		}
		return os.WriteFile(out, text, 0o644)
	})
	if err != nil {
		return nil, fmt.Errorf("translate %s: %w", s.name(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tr := &Translation{key: key}
	return tr, json.Unmarshal(text, tr)
}

func (t *Toolchain) translate(s Source) (*Translation, error) {
	text, err := t.preprocess(s)
	if err != nil {
		return nil, err
	}
	u := parse(lex(text, s.name()))
	kernels := u.kernels()
	if len(kernels) == 0 {
		return nil, errors.New("no kernel found")
	}
	u.lint(kernels, s)
	tr := &Translation{
		Host:       u.emit(targetHost, kernels, s.name()),
		CUDA:       u.emit(targetCUDA, kernels, s.name()),
		spaces:     u.emit(targetCheck, kernels, s.name()),
		Reflection: u.reflect(kernels),
	}
	slices.SortStableFunc(u.errs, func(a, b diagnostic) int { return a.line - b.line })
	var bad []diagnostic
	for _, d := range u.errs {
		if d.warning {
			tr.Warnings = append(tr.Warnings, d.problem())
		} else {
			bad = append(bad, d)
		}
	}
	report, err := t.checkSpaces(tr.spaces)
	if err != nil {
		return nil, err
	}
	if len(bad) > 0 || report != "" {
		return nil, compileError(bad, report)
	}
	return tr, nil
}
