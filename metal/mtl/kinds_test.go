package mtl_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/standin"
)

// kind is the machine's view of a type of Apple's headers, in the stand-in's words.
func kind(typ string) string {
	switch typ {
	case "void", "bool":
		return typ
	case "CFTimeInterval":
		return "double"
	case "uint8_t":
		return "byte"
	case "MTL::Size":
		return "size"
	case "NS::Range":
		return "range"
	case "NS::Integer", "MTL::GPUFamily": // the family is a signed enum
		return "int"
	case "NS::ErrorDomain":
		return "pointer"
	}
	if strings.ContainsAny(typ, "*^[") {
		return "pointer"
	}
	return "uint" // NS::UInteger, uint64_t and the unsigned enums
}

// The stand-in implements what the binding sends with the headers' arguments, and nothing else.
func TestStandinHasTheMethodsOfApplesHeaders(t *testing.T) {
	standin.ForTest(t, standin.Options{})
	text, err := os.ReadFile("testdata/selectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		kinds := kind(f[2])
		if f[3] != "" {
			for arg := range strings.SplitSeq(f[3], "; ") {
				kinds += " " + kind(arg)
			}
		}
		want[strings.Replace(f[0], "::", "", 1)+"\t"+f[1]] = kinds
	}
	methods, err := standin.Methods()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(methods) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		n++
		if got, ok := want[f[0]+"\t"+f[1]]; !ok {
			t.Errorf("the stand-in has %s %s, which nothing sends", f[0], f[1])
		} else if got != f[2] {
			t.Errorf("%s %s: the stand-in takes %q, the headers say %q", f[0], f[1], f[2], got)
		}
		delete(want, f[0]+"\t"+f[1])
	}
	delete(want, "class\tselector (- instance, + class)")
	for missing := range want {
		t.Errorf("the stand-in lacks %q", missing)
	}
	if n == 0 {
		t.Error("the stand-in lists no method")
	}
}
