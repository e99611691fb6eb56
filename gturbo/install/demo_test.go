package install

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

var update = flag.Bool("update", false, "write golden files anew")

const (
	demoCheckpoint = "../../testdata/checkpoint"
	demoInstall    = "../../testdata/demo.gturbo"
)

// installDemo installs the demo checkpoint to a new directory and returns its path.
func installDemo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "demo.gturbo")
	_, err := Install(t.Context(), Options{Source: NewDirSource(demoCheckpoint), Output: dir, Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns the contents of every file below dir by its slash path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameTree compares two trees by their bytes and names the files that differ.
func sameTree(t *testing.T, want, got map[string]string) {
	t.Helper()
	for path, data := range want {
		if other, ok := got[path]; !ok {
			t.Errorf("%s is missing", path)
		} else if other != data {
			t.Errorf("%s differs: %d bytes, want %d", path, len(other), len(data))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s is unexpected", path)
		}
	}
}

func TestDemoInstallIsCommitted(t *testing.T) {
	got := tree(t, installDemo(t))
	if _, ok := got[gturbo.ReceiptFile]; !ok {
		t.Error("the install has no receipt")
	}
	delete(got, gturbo.ReceiptFile)
	if *update {
		if err := os.RemoveAll(demoInstall); err != nil {
			t.Fatal(err)
		}
		for path, data := range got {
			name := filepath.Join(demoInstall, path)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	sameTree(t, tree(t, demoInstall), got)
}
