package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// DirSource reads a checkpoint directory: a snapshot that somebody has downloaded already. Symlinks are followed,
// because the hub's own download folder is made of them.
type DirSource struct {
	dir string
}

// NewDirSource returns the source of the checkpoint in dir; nothing is opened yet.
func NewDirSource(dir string) *DirSource {
	return &DirSource{dir: dir}
}

// Resolve returns an empty origin: a directory does not know which revision it is. What it holds is told by the hash
// of its index.
func (s *DirSource) Resolve(context.Context, string) (Origin, error) {
	if info, err := os.Stat(s.dir); err != nil {
		return Origin{}, fmt.Errorf("open checkpoint directory: %w", err)
	} else if !info.IsDir() {
		return Origin{}, fmt.Errorf("open checkpoint directory: %s is not a directory", s.dir)
	}
	return Origin{}, nil
}

// Size implements [Source].
func (s *DirSource) Size(_ context.Context, name string) (int64, error) {
	path, err := s.path(name)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a regular file", path)
	}
	return info.Size(), nil
}

// Open implements [Source].
func (s *DirSource) Open(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &fileRange{ctx: ctx, f: f, at: off, end: off + n}, nil
}

func (s *DirSource) path(name string) (string, error) {
	if !validFileName(name) {
		return "", fmt.Errorf("%w: %q is not a file name of a checkpoint", ErrUnsafePath, name)
	}
	return filepath.Join(s.dir, name), nil
}

// fileRange reads the bytes [at, end) of a file.
type fileRange struct {
	ctx     context.Context
	f       *os.File
	at, end int64
}

func (r *fileRange) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.at == r.end {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.end-r.at)]
	n, err := r.f.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("%w: %s ends at byte %d, %d expected", ErrShortSource, r.f.Name(), r.at, r.end)
	}
	return 0, err
}

func (r *fileRange) Close() error { return r.f.Close() }
