package picture

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReadFileTakesRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.png")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(path, Limits{EncodedBytes: 10}); err != nil || string(got) != "0123456789" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := ReadFile(path, Limits{EncodedBytes: 9}); !errors.Is(err, ErrEncodedBytes) {
		t.Errorf("one byte above the limit: got %v", err)
	}
	if _, err := ReadFile(dir, Limits{}); !errors.Is(err, ErrSource) {
		t.Errorf("a folder: got %v", err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
	link := filepath.Join(dir, "link.png")
	if err := os.Symlink(path, link); err != nil {
		t.Logf("this system makes no symbolic links here: %v", err)
	} else if _, err := ReadFile(link, Limits{}); !errors.Is(err, ErrSource) {
		t.Errorf("a symbolic link: got %v", err)
	}
}

func TestReadStopsAtTheLimit(t *testing.T) {
	if got, err := Read(bytes.NewReader(make([]byte, 10)), Limits{EncodedBytes: 10}); err != nil || len(got) != 10 {
		t.Errorf("at the limit: got %d bytes, %v", len(got), err)
	}
	if _, err := Read(bytes.NewReader(make([]byte, 1000)), Limits{EncodedBytes: 10}); !errors.Is(err, ErrEncodedBytes) {
		t.Errorf("above the limit: got %v", err)
	}
}
