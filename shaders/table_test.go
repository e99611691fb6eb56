package shaders_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/msl"
	"github.com/fieldfare/fieldfare/shaders"
)

// translate lints a library and returns what the translator read in it.
func translate(t *testing.T, l *shaders.Library) *msl.Translation {
	t.Helper()
	tools, err := msl.NewToolchain(msl.ToolchainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := tools.Translate(msl.Source{Name: l.Name + ".metal", Text: l.Source(), Version: l.Version})
	if errors.Is(err, msl.ErrNoCompiler) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	var failed *driver.CompileError
	if errors.As(err, &failed) {
		t.Fatal(failed.Text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestLintFindsNothing(t *testing.T) {
	for _, l := range shaders.Libraries {
		for _, w := range translate(t, l).Warnings {
			t.Errorf("%s: %v", l.Name, w)
		}
	}
}

func TestTableSaysWhatTheSourcesSay(t *testing.T) {
	named := map[string]bool{}
	for _, l := range shaders.Libraries {
		r := translate(t, l).Reflection
		for _, c := range r.Constants {
			t.Errorf("%s has the function constant %s, which the table does not", l.Name, c.Name)
		}
		found := map[string]msl.Kernel{}
		for _, k := range r.Kernels {
			found[k.Name] = k
		}
		for _, k := range shaders.Kernels {
			if k.Library != l {
				continue
			}
			if named[k.Name] {
				t.Errorf("%s stands in the table twice", k.Name)
			}
			named[k.Name] = true
			read, ok := found[k.Name]
			if !ok {
				t.Errorf("%s: no kernel %s", l.Name, k.Name)
				continue
			}
			delete(found, k.Name)
			compare(t, k, read)
		}
		for name := range found {
			t.Errorf("%s: kernel %s is missing in the table", l.Name, name)
		}
	}
}

func compare(t *testing.T, k shaders.Kernel, read msl.Kernel) {
	var want, got []string
	for i, b := range k.Buffers {
		want = append(want, fmt.Sprintf("buffer %d %s writable=%t", i, b.Name, b.Write))
	}
	for i, name := range k.Threadgroup {
		want = append(want, fmt.Sprintf("threadgroup %d %s writable=false", i, name))
	}
	for _, a := range read.Arguments {
		if a.Kind != "builtin" {
			got = append(got, fmt.Sprintf("%s %d %s writable=%t", a.Kind, a.Index, a.Name, a.Writable))
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s has\n%s\nthe table says\n%s", k.Name, g, w)
	}
	if read.MaxThreads != 0 && read.MaxThreads < k.Threads {
		t.Errorf("%s is for at most %d threads, the table says %d", k.Name, read.MaxThreads, k.Threads)
	}
}
