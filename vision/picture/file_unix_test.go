//go:build unix

package picture

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadFileDoesNotHangOnAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, Limits{}); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "a pipe") {
		t.Errorf("got %v, want ErrSource that names the pipe", err)
	}
}
