package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fieldfare/fieldfare/gturbo/lease"
)

// osFS is the host's file system.
type osFS struct{}

// HostFS returns the file system of the host.
func HostFS() FS { return osFS{} }

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) Create(name string, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|openNoFollow, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Open(name string) (File, error)      { return openRegular(name, os.O_RDONLY) }
func (osFS) OpenWrite(name string) (File, error) { return openRegular(name, os.O_RDWR) }

// openRegular opens a regular file. The type is checked before the open where the host cannot refuse a symlink in the
// open itself, and after it everywhere.
func openRegular(name string, flag int) (File, error) {
	if openNoFollow == 0 {
		info, err := os.Lstat(name)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, unsafePath(name, info.Mode(), false)
		}
	}
	f, err := os.OpenFile(name, flag|openNoFollow, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = unsafePath(name, info.Mode(), false)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Lstat(name string) (fs.FileInfo, error)    { return os.Lstat(name) }
func (osFS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }
func (osFS) MkdirParents(name string) error            { return os.MkdirAll(name, 0o755) }
func (osFS) Physical(name string) (string, error)      { return filepath.EvalSymlinks(name) }
func (osFS) Remove(name string) error                  { return os.Remove(name) }
func (osFS) Rename(from, to string) error              { return os.Rename(from, to) }
func (osFS) Exchange(a, b string) error                { return exchange(a, b) }
func (osFS) SyncDir(name string) error                 { return syncDir(name) }
func (osFS) Free(name string) (int64, error)           { return freeBytes(name) }

func (osFS) ReadDir(name string, limit int) ([]string, error) {
	d, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > limit {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("too many entries")}
	}
	return names, nil
}

func (osFS) Lock(name, note string) (io.Closer, error) {
	l, err := lease.Exclusive(name, note)
	switch {
	case errors.Is(err, lease.ErrBusy):
		return nil, fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, lease.ErrUnsafe):
		return nil, fmt.Errorf("%w: %w", ErrUnsafePath, err)
	case err != nil:
		return nil, err
	}
	return l, nil
}
