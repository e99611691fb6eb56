package gturbo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// A Root is a directory that was opened once and stays the same directory, even if its path is renamed or re-pointed
// afterwards. Below it no symbolic link is followed and nothing but regular files is opened. Safe for concurrent use.
type Root struct {
	dir  *os.Root
	path string
}

// OpenRoot opens the directory at path, which may itself be a symbolic link. The error wraps fs.ErrNotExist when
// nothing is there and ErrNotDirectory when it is not a directory.
func OpenRoot(path string) (*Root, error) {
	standard, err := StandardPath(path)
	if err != nil {
		return nil, err
	}
	// The trailing "." makes the system refuse anything but a directory, without opening it: a FIFO would block.
	dir, err := os.OpenRoot(standard + string(os.PathSeparator) + ".")
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("open %s: %w", standard, ErrNotDirectory)
	}
	if err != nil {
		if info, statErr := os.Stat(standard); statErr == nil && !info.IsDir() {
			return nil, fmt.Errorf("open %s: %w", standard, ErrNotDirectory)
		}
		return nil, fmt.Errorf("open %s: %w", standard, err)
	}
	return &Root{dir: dir, path: standard}, nil
}

// Path is the standardised path that the root was opened by; symbolic links in it are not resolved.
func (r *Root) Path() string { return r.path }

// Close releases the directory; files opened from it stay open.
func (r *Root) Close() error { return r.dir.Close() }

// Open opens the regular file name, a slash-separated path as CheckPath allows. Symbolic links (ErrSymlink), FIFOs,
// devices and directories (ErrNotRegular) are refused without waiting on them, and a component on the way that is not
// a directory is ErrNotDirectory. The error wraps fs.ErrNotExist when the file is absent.
func (r *Root) Open(name string) (*os.File, error) {
	if err := CheckPath(name); err != nil {
		return nil, err
	}
	f, err := openBelow(r.dir, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return f, nil
}

func openBelow(dir *os.Root, name string) (*os.File, error) {
	for {
		parent, rest, nested := strings.Cut(name, "/")
		if !nested {
			return openLeaf(dir, name)
		}
		next, err := openDir(dir, parent)
		if err != nil {
			return nil, err
		}
		defer next.Close()
		dir, name = next, rest
	}
}

// openDir opens the directory name of dir. os.Root follows links that stay inside it, so the entry is looked at first
// and the opened directory must be that very entry.
func openDir(dir *os.Root, name string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if seen.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrSymlink)
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s: %w", name, ErrNotDirectory)
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = fmt.Errorf("%s: replaced while it was opened: %w", name, ErrSymlink)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// leafAttempts bounds how often openLeaf looks again when something is put in a file's place just then, as writers do
// who rename a new file to an old name.
const leafAttempts = 16

// openLeaf opens the regular file name of dir, with the same two looks as openDir. O_NONBLOCK keeps a FIFO that comes
// between the looks from blocking; it means nothing for regular files.
func openLeaf(dir *os.Root, name string) (*os.File, error) {
	var failed error
	for range leafAttempts {
		seen, err := dir.Lstat(name)
		if err != nil {
			return nil, err
		}
		if seen.Mode()&fs.ModeSymlink != 0 {
			return nil, ErrSymlink
		}
		if !seen.Mode().IsRegular() {
			return nil, fmt.Errorf("%w (%s)", ErrNotRegular, seen.Mode().Type())
		}
		f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			failed = err
			continue
		}
		opened, err := f.Stat()
		if err == nil && os.SameFile(seen, opened) {
			return f, nil
		}
		f.Close()
		if failed = err; err == nil {
			failed = fmt.Errorf("replaced while it was opened: %w", ErrSymlink)
		}
	}
	return nil, failed
}

// ReadFile returns the whole of a file of at most limit bytes. A larger one is refused from its size alone, before a
// byte is read: the error wraps ErrMetadataCap. Otherwise errors are those of Open.
func (r *Root) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readCapped(f, name, limit)
}

func readCapped(f *os.File, name string, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("read %s: %d bytes, metadata cap %d: %w", name, info.Size(), limit, ErrMetadataCap)
	}
	data := make([]byte, info.Size())
	if n, err := io.ReadFull(io.NewSectionReader(f, 0, info.Size()), data); err != nil {
		return nil, fmt.Errorf("read %s: got %d of %d bytes: %w", name, n, len(data), err)
	}
	return data, nil
}
