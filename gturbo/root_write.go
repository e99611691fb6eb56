package gturbo

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
)

// WriteFile puts data under a base name of the root so that readers see the old file or the new one, whole and
// durable. Whatever stood at the name is replaced, a symbolic link itself included. Concurrent writers each publish
// a complete file; none leaves a temporary one behind.
func (r *Root) WriteFile(name string, data []byte) (err error) {
	if err := CheckBase(name); err != nil {
		return err
	}
	temporary := ".gturbo-" + rand.Text() + ".tmp"
	defer func() {
		if err != nil {
			r.dir.Remove(temporary)
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	f, err := r.dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := r.dir.Rename(temporary, name); err != nil {
		return err
	}
	return r.sync()
}

// sync makes the root's own entries durable. Windows has no such call on a directory and needs none: its renames are
// journaled with the file.
func (r *Root) sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := r.dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
