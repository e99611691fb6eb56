package msl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the text, reading, linting and writing end without a panic, and tokens give the text back.
func FuzzTranslation(f *testing.F) {
	for _, pattern := range []string{"testdata/lint/*.metal", "harness/kernels/*.metal"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatal(pattern, err)
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Add("template <typename T> [[host_name(\"x\")]] kernel void k<float>(device float *p [[buffer(0)]]);")
	f.Fuzz(func(t *testing.T, text string) {
		toks := lex(text, "fuzz")
		if !strings.Contains(text, "#") {
			var b strings.Builder
			for _, tok := range toks {
				b.WriteString(tok.pre + tok.text)
			}
			if b.String() != text {
				t.Fatalf("%q became %q", text, b.String())
			}
		}
		u := parse(toks)
		kernels := u.kernels()
		u.lint(kernels, Source{Text: text})
		for _, to := range []target{targetHost, targetCUDA, targetCheck} {
			u.emit(to, kernels, "fuzz")
		}
	})
}
