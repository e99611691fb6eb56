package picture

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads an image file. Only regular files are read: a pipe would block, and the last element of path may
// not be a symbolic link. Errors wrap ErrSource or ErrEncodedBytes, or are those of the file system.
func ReadFile(path string, l Limits) ([]byte, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is %s", ErrSource, path, kind(before.Mode()))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // replaced in between
		return nil, fmt.Errorf("%w: %s is %s", ErrSource, path, kind(info.Mode()))
	}
	l = l.withDefaults()
	if n := info.Size(); n > l.EncodedBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d", ErrEncodedBytes, path, n, l.EncodedBytes)
	}
	return Read(f, l)
}

// Read reads an image from a stream up to the limit of encoded bytes.
func Read(r io.Reader, l Limits) ([]byte, error) {
	l = l.withDefaults()
	data, err := io.ReadAll(io.LimitReader(r, l.EncodedBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > l.EncodedBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrEncodedBytes, l.EncodedBytes)
	}
	return data, nil
}

func kind(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&os.ModeSymlink != 0:
		return "a symbolic link"
	case m&os.ModeNamedPipe != 0:
		return "a pipe"
	case m&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
