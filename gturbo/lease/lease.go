// Package lease keeps processes apart that use and change the same install: a running model holds a shared lease, an
// installer or a repair an exclusive one. It knows lock files and nothing of what is inside an install.
//
// The operating system drops a lock when its holder dies, so a lock file that nobody holds is only a name: the next
// taker gets it at once, and lock files are never deleted. Start reading at Shared and Exclusive.
package lease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var (
	// ErrBusy: another process holds the lock in a way that excludes this one.
	ErrBusy = errors.New("in use by another process")
	// ErrUnsafe: the lock's name is a symlink, no regular file, or was replaced while it was being locked.
	ErrUnsafe = errors.New("unsafe lock file")
)

// pollInterval is how often a waiting reader tries again.
const pollInterval = 20 * time.Millisecond

// noteCap bounds what is read from a lock file to say who holds it.
const noteCap = 256

// Lease is a held lock. Close releases it; the file stays.
type Lease struct {
	f     *os.File
	noted bool // the file says who holds it, and must not once it is released
}

// Close releases the lock. A nil lease, and one without a file (see Shared), may be closed too.
func (l *Lease) Close() error {
	if l == nil || l.f == nil {
		return nil
	}
	if l.noted {
		_ = l.f.Truncate(0) // a note left behind only misleads the text of somebody's error
	}
	return l.f.Close()
}

// UsePath returns the lock file of the install at dir: ".<name>.use.lock" in dir's physical parent, so that every
// alias of the parent meets at one file.
func UsePath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, UseName(filepath.Base(dir))), nil
}

// UseName returns the lock file's name for an install's directory name.
func UseName(name string) string { return "." + name + ".use.lock" }

// Exclusive takes the lock at path for one holder alone, without waiting, creating the file if need be. note is one
// line that says who holds it; a later taker's error quotes it. Errors wrap ErrBusy or ErrUnsafe where they apply.
func Exclusive(path, note string) (*Lease, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := lockAndCheck(f, path, true); err != nil {
		f.Close()
		return nil, err
	}
	if err := writeNote(f, note); err != nil {
		f.Close()
		return nil, fmt.Errorf("note the holder of %s: %w", path, err)
	}
	return &Lease{f: f, noted: note != ""}, nil
}

// Shared takes the lock at path together with any number of other readers, waiting up to wait for a writer to finish.
// An unwritable lock file is locked as it is. Where the file is absent on a read-only file system nobody can change
// the install either, and the lease is held without a lock. Errors wrap ErrBusy or ErrUnsafe where they apply.
func Shared(ctx context.Context, path string, wait time.Duration) (*Lease, error) {
	f, err := openLock(path)
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		readOnly := isReadOnly(err)
		f, err = openExisting(path)
		if readOnly && errors.Is(err, fs.ErrNotExist) {
			return &Lease{}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	for {
		err := lockAndCheck(f, path, false)
		if err == nil {
			_ = f.Truncate(0) // the note of a writer that was killed; fails harmlessly on a read-only file
			return &Lease{f: f}, nil
		}
		if !errors.Is(err, ErrBusy) || !time.Now().Before(deadline) {
			f.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// useWait is how long Use waits for an installer or a repair to finish.
const useWait = 5 * time.Second

// Use takes a shared lease on the install at dir for as long as a model runs from it, so that nothing replaces or
// repairs its files meanwhile. Where this user may not create the lock file, nothing is locked: whoever may change
// such an install is not kept out, but the model runs. Errors wrap ErrBusy or ErrUnsafe where they apply.
func Use(ctx context.Context, dir string) (*Lease, error) {
	path, err := UsePath(dir)
	if err != nil {
		return nil, err
	}
	l, err := Shared(ctx, path, useWait)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return &Lease{}, nil
	}
	return l, err
}

// lockAndCheck locks f and makes sure that path still names it: a file that was replaced between open and lock would
// exclude nobody.
func lockAndCheck(f *os.File, path string, exclusive bool) error {
	locked, err := tryLock(f, exclusive)
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if !locked {
		return busy(f, path, exclusive)
	}
	held, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !held.Mode().IsRegular() || !os.SameFile(held, named) {
		return fmt.Errorf("%w: %s is no regular file, or was replaced", ErrUnsafe, path)
	}
	return nil
}

func busy(f *os.File, path string, exclusive bool) error {
	note := make([]byte, noteCap)
	n, _ := f.ReadAt(note, 0) // without a note the message is only shorter
	holder, _, _ := strings.Cut(string(note[:n]), "\n")
	switch {
	case holder != "":
		return fmt.Errorf("%w: %s (lock file %s)", ErrBusy, holder, path)
	case exclusive:
		return fmt.Errorf("%w: a loaded model holds it; unload it first (lock file %s)", ErrBusy, path)
	}
	return fmt.Errorf("%w: it is being modified (lock file %s)", ErrBusy, path)
}

func writeNote(f *os.File, note string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	if note == "" {
		return nil
	}
	_, err := f.WriteAt([]byte(note+"\n"), 0)
	return err
}
