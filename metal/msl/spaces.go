package msl

import (
	"errors"
	"regexp"
	"strings"
)

// checkSpaces type-checks text, translated for targetCheck, as C++ for OpenCL, where address spaces are real types.
// It returns the compiler's report, empty when all is well.
func (t *Toolchain) checkSpaces(text string) (string, error) {
	shim, err := t.shimFolder()
	if err != nil {
		return "", err
	}
	_, messages, err := t.run(text, "-x", "clcpp", "-cl-std=clc++1.0", "-cl-no-stdinc", "-fsyntax-only",
		"-ferror-limit=100", "-Wno-everything", "-I", shim, "-")
	if err == nil {
		return "", nil
	}
	if errors.Is(err, ErrNoCompiler) {
		return "", err
	}
	var report strings.Builder
	for _, block := range errorBlocks(messages) {
		// OpenCL cannot copy a struct out of __constant memory; MSL can.
		if !strings.Contains(block, "(the implicit copy constructor) not viable: "+
			"cannot bind reference in address space '__constant'") {
			report.WriteString(block)
		}
	}
	return report.String(), nil
}

var errorLine = regexp.MustCompile(`(?m)^\S+:\d+:\d+: (fatal )?error: `)

// errorBlocks splits a compiler's output into one block per error, with its notes.
func errorBlocks(text string) []string {
	at := errorLine.FindAllStringIndex(text, -1)
	if at == nil {
		return []string{text}
	}
	var blocks []string
	for i, p := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		blocks = append(blocks, text[p[0]:end])
	}
	last := &blocks[len(blocks)-1]
	if n := strings.LastIndex(strings.TrimRight(*last, "\n"), "\n"); n > 0 && strings.Contains((*last)[n:], "generated") {
		*last = (*last)[:n+1] // the compiler's count of errors
	}
	return blocks
}
