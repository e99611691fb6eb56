package install

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

// FS is the part of a file system that the installer uses. Names are absolute host paths. No call follows a symlink
// in the last component of a name.
type FS interface {
	// Create makes a new file for reading and writing; a name that exists is an error.
	Create(name string, perm fs.FileMode) (File, error)
	// Open opens an existing regular file for reading; anything else at the name is an error and never blocks.
	Open(name string) (File, error)
	// OpenWrite opens an existing regular file for reading and writing.
	OpenWrite(name string) (File, error)
	Lstat(name string) (fs.FileInfo, error)
	// ReadDir returns the names in a directory in any order, at most limit of them.
	ReadDir(name string, limit int) ([]string, error)
	Mkdir(name string, perm fs.FileMode) error
	// MkdirParents creates a directory and what is missing above it; symlinks to directories are followed.
	MkdirParents(name string) error
	// Physical resolves every symlink in the name of an existing directory.
	Physical(name string) (string, error)
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// Rename moves a file or a directory; an existing file at the new name is replaced.
	Rename(from, to string) error
	// Exchange swaps two directories in one step. Where the file system cannot, the error wraps errors.ErrUnsupported.
	Exchange(a, b string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Free returns the bytes that an unprivileged process may still write below an existing directory.
	Free(name string) (int64, error)
	// Lock takes the exclusive lock on a lock file, creating it if need be, without waiting. An error that wraps
	// ErrBusy means that another open file description holds it.
	Lock(name, note string) (io.Closer, error)
}

// File is an open file of an [FS].
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Size() (int64, error)
}

// present reports whether something of the wanted type stands at name. Something of another type, a symlink included,
// wraps ErrUnsafePath.
func present(fsys FS, name string, wantDir bool) (bool, error) {
	info, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if wantDir != info.IsDir() || !wantDir && !info.Mode().IsRegular() {
		return false, unsafePath(name, info.Mode(), wantDir)
	}
	return true, nil
}

// Limits of a walk through an install's directory.
const (
	maxEntries = 100_000
	maxDepth   = 16
)

// removeTree deletes name and everything below it without following a symlink. An absent name is fine.
func removeTree(fsys FS, name string) error {
	info, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		names, err := fsys.ReadDir(name, maxEntries)
		if err != nil {
			return err
		}
		for _, child := range names {
			if err := removeTree(fsys, filepath.Join(name, child)); err != nil {
				return err
			}
		}
	}
	return fsys.Remove(name)
}

// readSmall returns the whole of a regular file of at most limit bytes.
func readSmall(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, tooLarge(name, size, limit)
	}
	data := make([]byte, size)
	if n, err := f.ReadAt(data, 0); err != nil && !(errors.Is(err, io.EOF) && int64(n) == size) {
		return nil, err
	}
	return data, nil
}

// writeDurably replaces name by data: a temporary beside it, written, synced, renamed, its directory synced. After a
// crash at any point the name holds the old bytes or the new ones.
func writeDurably(fsys FS, name string, data []byte, perm fs.FileMode) (err error) {
	temp := name + ".tmp"
	if there, err := present(fsys, temp, false); err != nil {
		return err
	} else if there {
		if err := fsys.Remove(temp); err != nil {
			return err
		}
	}
	f, err := fsys.Create(temp, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = fsys.Remove(temp) // the error that brought us here says more than this one would
		}
	}()
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}
