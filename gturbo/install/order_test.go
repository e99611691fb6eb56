package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOrderOfDurableSteps compares the writes, syncs and renames of an install, of a resumed one and of one that
// replaces another with committed logs. A change of this order is a change of what survives a power cut: look at the
// difference before running it with -update.
func TestOrderOfDurableSteps(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name string
		run  func(t *testing.T, f *memFS, log *[]string)
	}{
		{"install", func(t *testing.T, f *memFS, log *[]string) {
			f.log = log
			if _, err := Install(t.Context(), r.options(f)); err != nil {
				t.Fatal(err)
			}
		}},
		{"resume", func(t *testing.T, f *memFS, log *[]string) {
			ctx, cancel := context.WithCancel(t.Context())
			saves := 0
			f.before = func(_ int, op, name string) error {
				if op == "rename" && strings.HasSuffix(name, "-> tiny.gturbo.resume.json") {
					if saves++; saves == 8 { // the first, one per small file, and four ranges
						cancel()
					}
				}
				return nil
			}
			if _, err := Install(ctx, r.options(f)); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			f.log, f.before = log, nil
			if _, err := Resume(t.Context(), r.options(f)); err != nil {
				t.Fatal(err)
			}
		}},
		{"overwrite", func(t *testing.T, f *memFS, log *[]string) {
			if _, err := Install(t.Context(), r.options(f)); err != nil {
				t.Fatal(err)
			}
			f.log = log
			o := r.options(f)
			o.Overwrite = true
			if _, err := Install(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []string
			c.run(t, newMemFS(), &log)
			golden(t, filepath.Join("testdata", "order-"+c.name+".txt"), durableSteps(log))
		})
	}
}

// durableSteps keeps the calls that change something, with names relative to the install's parent.
func durableSteps(log []string) string {
	var b strings.Builder
	for _, line := range log {
		op, rest, _ := strings.Cut(filepath.ToSlash(line), " ")
		switch op {
		case "create", "write", "truncate", "sync", "rename", "exchange", "remove", "mkdir", "syncdir", "lock":
			rest = strings.TrimPrefix(rest, filepath.VolumeName(rest))
			if rest == "/m" {
				rest = "."
			}
			b.WriteString(op + " " + strings.TrimPrefix(rest, "/m/") + "\n")
		}
	}
	return b.String()
}

// golden compares got with a committed file, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(wantLines), len(gotLines)) {
		w, g := "(end)", "(end)"
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if w != g {
			t.Fatalf("%s line %d: got %q, want %q", name, i+1, g, w)
		}
	}
}
