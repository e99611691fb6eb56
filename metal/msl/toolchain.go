package msl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A Toolchain translates and compiles MSL with clang and keeps what it made in a folder, named by content. It may be
// used from several goroutines, and several processes may share the folder.
type Toolchain struct {
	clang string // "" when there is none
	dir   string
}

// ToolchainOptions says where a Toolchain finds and keeps things.
type ToolchainOptions struct {
	// Clang is the compiler; default: clang++-19 in PATH.
	Clang string
	// Cache is the folder of finished files; default: fieldfare-msl in the user's cache folder.
	Cache string
}

// NewToolchain opens a toolchain. Without a compiler it still gives out what the cache holds, and ErrNoCompiler for
// the rest.
func NewToolchain(o ToolchainOptions) (*Toolchain, error) {
	t := &Toolchain{dir: o.Cache}
	if t.dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		t.dir = filepath.Join(base, "fieldfare-msl")
	}
	if o.Clang == "" {
		o.Clang = "clang++-19"
	}
	if path, err := exec.LookPath(o.Clang); err == nil {
		t.clang = path
	}
	return t, os.MkdirAll(t.dir, 0o755)
}

// HasCompiler tells whether clang was found.
func (t *Toolchain) HasCompiler() bool { return t.clang != "" }

// run starts clang with input on stdin and returns stdout; its messages come back as text with the error.
func (t *Toolchain) run(input string, args ...string) (out []byte, messages string, err error) {
	if t.clang == "" {
		return nil, "", ErrNoCompiler
	}
	cmd := exec.Command(t.clang, args...)
	cmd.Stdin = bytes.NewReader([]byte(input))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	return out, stderr.String(), err
}

// cached gives the path of the file or folder called name in the cache; work makes it when it is not there yet. name
// holds a digest of all that the content depends on.
func (t *Toolchain) cached(name string, work func(out string) error) (string, error) {
	path := filepath.Join(t.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	tmp, err := os.MkdirTemp(t.dir, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, name)
	if err := work(out); err != nil {
		return "", err
	}
	if err := os.Rename(out, path); err != nil {
		if _, other := os.Stat(path); other != nil { // else another process was faster
			return "", err
		}
	}
	return path, nil
}

// clangFile runs clang to make one file; its messages become the error.
func (t *Toolchain) clangFile(args ...string) error {
	if _, messages, err := t.run("", args...); err != nil {
		if errors.Is(err, ErrNoCompiler) {
			return err
		}
		return fmt.Errorf("%s: %w\n%s", filepath.Base(t.clang), err, messages)
	}
	return nil
}
