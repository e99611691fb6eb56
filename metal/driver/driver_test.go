package driver

import (
	"math"
	"strings"
	"testing"
)

func TestCompilerOutputBecomesProblems(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Problem
	}{
		"nothing":  {"", nil},
		"no error": {"warning: unused\nprogram_source:3:1: warning: unused variable 'x'\n", nil},
		"one error": {"program_source:12:5: error: use of undeclared identifier 'y'\n    y = 1;\n    ^\n",
			[]Problem{{"program_source", 12, "use of undeclared identifier 'y'"}}},
		"a fatal error": {"a.metal:1:10: fatal error: 'x.h' file not found\n",
			[]Problem{{"a.metal", 1, "'x.h' file not found"}}},
		"two and a note": {"a:1:2: error: b\na:2:2: note: c\nd:3:4: error: e: f\n2 errors generated.\n",
			[]Problem{{"a", 1, "b"}, {"d", 3, "e: f"}}},
		"a huge line": {"a:99999999999999999999:1: error: b\n", nil},
	} {
		got := ParseProblems(c.text)
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, got[i], c.want[i])
			}
		}
	}
}

func TestCompileErrorNamesTheFirstProblem(t *testing.T) {
	for want, e := range map[string]CompileError{
		"compile msl: out of ideas":                {Text: "out of ideas\n"},
		"compile msl: a.metal:3: bad":              {Problems: []Problem{{"a.metal", 3, "bad"}}},
		"compile msl: a.metal:3: bad (and 1 more)": {Problems: []Problem{{"a.metal", 3, "bad"}, {"a.metal", 4, "worse"}}},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestConstantsCarryTheirBits(t *testing.T) {
	for _, c := range []struct {
		got, want Constant
	}{
		{Bool(1, true), Constant{1, KindBool, 1}},
		{Bool(2, false), Constant{2, KindBool, 0}},
		{Int(3, -1), Constant{3, KindInt, math.MaxUint32}},
		{Uint(4, math.MaxUint32), Constant{4, KindUint, math.MaxUint32}},
		{Ushort(5, 65535), Constant{5, KindUshort, 65535}},
		{Float(6, 1), Constant{6, KindFloat, 0x3f800000}},
	} {
		if c.got != c.want {
			t.Errorf("got %+v, want %+v", c.got, c.want)
		}
	}
}

func TestGroupsAreWholeThreadgroups(t *testing.T) {
	if got := Groups(D2(3, 2), D3(32, 4, 2)); got != (Size{96, 8, 2}) {
		t.Errorf("got %v", got)
	}
}

func FuzzParseProblems(f *testing.F) {
	f.Add("program_source:12:5: error: use of undeclared identifier 'y'\n")
	f.Add("a:1:1: fatal error: b\r\n:2:3: error: \n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range ParseProblems(text) {
			if p.File == "" || !strings.Contains(text, p.Message) {
				t.Errorf("%+v is not in the text", p)
			}
		}
	})
}
