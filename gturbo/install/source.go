package install

import (
	"context"
	"io"
)

// Origin says where a checkpoint's bytes come from. RepoID and Revision are empty for a directory of unknown
// provenance.
type Origin struct {
	RepoID            string // owner/name on the hub
	RequestedRevision string // what was asked for: a branch, a tag or a commit
	Revision          string // the commit that it resolved to, 40 hex digits
}

// Source hands out the bytes of a checkpoint's files by name. Methods may be called from several goroutines after
// Resolve has returned.
type Source interface {
	// Resolve says where the bytes come from and holds every later call to that revision. A resumed install passes the
	// commit that it began with, a fresh one the empty string.
	Resolve(ctx context.Context, pinned string) (Origin, error)
	// Size returns the length of a file. A file that the source does not have is an error that wraps fs.ErrNotExist.
	Size(ctx context.Context, name string) (int64, error)
	// Open returns exactly the n bytes at off. The reader retries by itself what a retry can help; it fails with an
	// error that wraps ErrShortSource when the file ends early, never with a clean end before n bytes. The caller
	// closes it.
	Open(ctx context.Context, name string, off, n int64) (io.ReadCloser, error)
}

// readFile returns a whole small file of a source. A file of more than limit bytes wraps ErrTooLarge before any byte
// is read.
func readFile(ctx context.Context, src Source, name string, limit int64) ([]byte, error) {
	size, err := src.Size(ctx, name)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, tooLarge(name, size, limit)
	}
	return readRange(ctx, src, name, 0, size)
}

// readRange returns n bytes at off; callers have bounded n.
func readRange(ctx context.Context, src Source, name string, off, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	r, err := src.Open(ctx, name, off, n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	return data, nil
}
