package msl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// tools opens the shared cache. Without clang the test fails in CI and is skipped elsewhere.
func tools(t *testing.T) *Toolchain {
	t.Helper()
	tc, err := NewToolchain(ToolchainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !tc.HasCompiler() {
		if os.Getenv("CI") == "true" {
			t.Fatal(ErrNoCompiler)
		}
		t.Skip(ErrNoCompiler)
	}
	return tc
}

func readSource(t *testing.T, path string) Source {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Source{Name: filepath.Base(path), Text: string(text), Version: 3<<16 | 1}
}

// marked lists the lines of text that end in "// want PATTERN".
func marked(text string) map[int]string {
	want := map[int]string{}
	for n, line := range strings.Split(text, "\n") {
		if m := regexp.MustCompile(`// want (.+)$`).FindStringSubmatch(line); m != nil {
			want[n+1] = m[1]
		}
	}
	return want
}

func TestLintReportsExactlyTheMarkedLines(t *testing.T) {
	s := readSource(t, "testdata/lint/bad.metal")
	// Without the preprocessor: the file has no macros.
	u := parse(lex(regexp.MustCompile(`(?m)^#include.*$`).ReplaceAllString(s.Text, ""), s.Name))
	u.lint(u.kernels(), s)
	got, want := map[string]bool{}, map[string]bool{}
	for _, d := range u.errs {
		got[fmt.Sprint(d.line, " ", d.rule)] = true
	}
	for line, rule := range marked(s.Text) {
		want[fmt.Sprint(line, " ", rule)] = true
	}
	for w := range want {
		if !got[w] {
			t.Errorf("not reported: line %s", w)
		}
	}
	for g := range got {
		if !want[g] {
			t.Errorf("reported: line %s", g)
		}
	}
}

func TestSpacesReportsExactlyTheMarkedLines(t *testing.T) {
	tc := tools(t)
	s := readSource(t, "testdata/lint/spaces.metal")
	_, err := tc.Translate(s)
	var failed *driver.CompileError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want a compile error", err)
	}
	got := map[int]string{}
	for _, p := range failed.Problems {
		got[p.Line] += p.Message + "\n"
	}
	want := marked(s.Text)
	for line, pattern := range want {
		if !regexp.MustCompile(pattern).MatchString(got[line]) {
			t.Errorf("line %d: want %q, got %q", line, pattern, got[line])
		}
	}
	for line, message := range got {
		if want[line] == "" {
			t.Errorf("line %d: unexpected %s", line, message)
		}
	}
}

func TestSpellingsOfRealCodePass(t *testing.T) {
	tc := tools(t)
	tr, err := tc.Translate(readSource(t, "testdata/lint/idioms.metal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Warnings) > 0 {
		t.Errorf("warnings: %v", tr.Warnings)
	}
	found := map[string]bool{}
	for _, k := range tr.Reflection.Kernels {
		found[k.Name] = true
	}
	for _, name := range strings.Fields("fill_float fill_half in_namespace spellings convert_float_half " +
		"convert_half_float convert_uint_float") {
		if !found[name] {
			t.Errorf("no kernel %s in %v", name, found)
		}
	}
	if err := tc.CheckCUDA(tr); err != nil {
		t.Error(err)
	}
	for _, checked := range []bool{false, true} {
		if _, err := tc.Build(readSource(t, "testdata/lint/idioms.metal"), checked); err != nil {
			t.Error(err)
		}
	}
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		in   string
		to   target
		want string
	}{
		{"1.0", targetHost, "1.0f"}, {"1e-5", targetCUDA, "1e-5f"}, {"0x1F", targetHost, "0x1F"},
		{"12u", targetHost, "12u"}, {"1.5h", targetHost, "1.5f16"}, {"1.5f", targetHost, "1.5f"},
		{"1.5h", targetCUDA, "::metal::half::from_bits(0x3e00)"}, {"0x1.8p1", targetHost, "0x1.8p1f"},
		{"65504.0h", targetCUDA, "::metal::half::from_bits(0x7bff)"},
		{"6e-8h", targetCUDA, "::metal::half::from_bits(0x0001)"},
		{"3.14bf", targetCUDA, "::metal::bfloat::from_bits(0x4049)"}, {"1ul", targetHost, "1ul"},
	} {
		if got := literal(c.in, c.to); got != c.want {
			t.Errorf("literal(%s) = %s, want %s", c.in, got, c.want)
		}
	}
}
