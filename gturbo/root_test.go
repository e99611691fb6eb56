package gturbo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func newRoot(t *testing.T) (*Root, string) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "file", []byte("plain"))
	put(t, dir, "dir/file", []byte("nested"))
	put(t, dir, "dir/deep/file", []byte("deep"))
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestRootOpensRegularFilesOnly(t *testing.T) {
	root, dir := newRoot(t)
	link(t, "file", filepath.Join(dir, "link"))
	link(t, filepath.Join(dir, "file"), filepath.Join(dir, "absolute"))
	link(t, "nowhere", filepath.Join(dir, "dangling"))
	link(t, "dir", filepath.Join(dir, "dirlink"))
	link(t, "deep", filepath.Join(dir, "dir", "deeplink"))
	for _, c := range []struct {
		name string
		want error
	}{
		{"file", nil}, {"dir/file", nil}, {"dir/deep/file", nil},
		{"link", ErrSymlink}, {"absolute", ErrSymlink}, {"dangling", ErrSymlink}, {"dirlink", ErrSymlink},
		{"dirlink/file", ErrSymlink}, {"dir/deeplink/file", ErrSymlink},
		{"dir", ErrNotRegular}, {"dir/deep", ErrNotRegular}, {"file/x", ErrNotDirectory},
		{"absent", fs.ErrNotExist}, {"absent/file", fs.ErrNotExist}, {"dir/absent", fs.ErrNotExist},
		{"", ErrPathGrammar}, {".", ErrPathGrammar}, {"../x", ErrPathGrammar}, {"dir/../file", ErrPathGrammar},
		{"/file", ErrPathGrammar}, {"dir//file", ErrPathGrammar}, {"dir/", ErrPathGrammar}, {"a\x00", ErrPathGrammar},
	} {
		f, err := root.Open(c.name)
		if !errors.Is(err, c.want) {
			t.Errorf("%q: got %v, want %v", c.name, err, c.want)
		}
		if err == nil {
			if data, err := io.ReadAll(f); err != nil || len(data) == 0 {
				t.Errorf("%q: read %q, %v", c.name, data, err)
			}
			f.Close()
		} else if errors.Is(c.want, ErrSymlink) && !errors.Is(err, ErrUnsafePath) {
			t.Errorf("%q: %v is not an unsafe path", c.name, err)
		}
	}
}

func TestRootStaysTheDirectoryThatWasOpened(t *testing.T) {
	_, first := newRoot(t)
	second := t.TempDir()
	put(t, second, "file", []byte("other"))
	alias := filepath.Join(t.TempDir(), "alias")
	link(t, first, alias)
	root, err := OpenRoot(alias)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if root.Path() != alias {
		t.Errorf("path %s, want the alias %s", root.Path(), alias)
	}
	if err := os.Remove(alias); err != nil {
		t.Fatal(err)
	}
	link(t, second, alias)
	if data, err := root.ReadFile("file", 100); err != nil || string(data) != "plain" {
		t.Errorf("read %q, %v", data, err)
	}
}

func TestOpenRootRefusesWhatIsNoDirectory(t *testing.T) {
	_, dir := newRoot(t)
	link(t, filepath.Join(dir, "file"), filepath.Join(dir, "link"))
	for name, want := range map[string]error{
		"file": ErrNotDirectory, "link": ErrNotDirectory, "absent": fs.ErrNotExist, "file/x": ErrNotDirectory,
	} {
		if root, err := OpenRoot(filepath.Join(dir, name)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, %v, want %v", name, root, err, want)
		}
	}
}

func TestReadFileHoldsToItsCapBeforeReading(t *testing.T) {
	root, dir := newRoot(t)
	if data, err := root.ReadFile("file", 5); err != nil || string(data) != "plain" {
		t.Errorf("at the cap: %q, %v", data, err)
	}
	_, err := root.ReadFile("file", 4)
	if !errors.Is(err, ErrMetadataCap) || !strings.Contains(err.Error(), "metadata cap") {
		t.Errorf("above the cap: %v", err)
	}
	// A sparse file far larger than memory: only its size may be looked at.
	f, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	if _, err := root.ReadFile("huge", 1<<20); !errors.Is(err, ErrMetadataCap) {
		t.Errorf("huge: %v", err)
	}
}

func TestWriteFileReplacesWholeFiles(t *testing.T) {
	root, dir := newRoot(t)
	link(t, "file", filepath.Join(dir, "link"))
	for _, name := range []string{"new", "file", "link"} {
		if err := root.WriteFile(name, []byte("written")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if data, err := root.ReadFile(name, 100); err != nil || string(data) != "written" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"", "..", "dir/x"} {
		if err := root.WriteFile(name, nil); !errors.Is(err, ErrPathGrammar) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := root.WriteFile("dir", []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	assertNoTemporaries(t, dir)
}

func TestWriteFileToALinkLeavesItsTarget(t *testing.T) {
	root, dir := newRoot(t)
	link(t, "file", filepath.Join(dir, "link"))
	if err := root.WriteFile("link", []byte("written")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(data) != "plain" {
		t.Errorf("the target holds %q, %v", data, err)
	}
}

func TestConcurrentWritersEachPublishAWholeFile(t *testing.T) {
	root, dir := newRoot(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 10000)
			if err := root.WriteFile("shared", []byte(text)); err != nil {
				t.Error(err)
			}
			data, err := root.ReadFile("shared", 10000)
			if err != nil || len(data) != 10000 || strings.Count(string(data), string(data[:1])) != 10000 {
				t.Errorf("a torn file of %d bytes, %v", len(data), err)
			}
		})
	}
	group.Wait()
	assertNoTemporaries(t, dir)
}

func assertNoTemporaries(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".gturbo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPathKey(t *testing.T) {
	for _, same := range [][2]string{{"A.bin", "a.BIN"}, {"\u00c9", "e\u0301"}, {"\u212b", "\u00e5"}} {
		if PathKey(same[0]) != PathKey(same[1]) {
			t.Errorf("%q and %q have keys %q and %q", same[0], same[1], PathKey(same[0]), PathKey(same[1]))
		}
	}
	if PathKey("a") == PathKey("b") || PathKey("e") == PathKey("\u00e9") {
		t.Error("different names share a key")
	}
}
