package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fieldfare/fieldfare/gturbo"
)

const (
	manifestName = gturbo.ManifestFile
	receiptName  = gturbo.ReceiptFile
)

// engine carries one artifact from an empty directory, or a half-finished one, to its final name. The caller holds
// the install lock.
type engine struct {
	fs      FS
	src     Source
	paths   paths
	art     *Artifact
	workers int
	meter   *meter

	files  []File   // the plan's outputs, open for reading and writing
	blocks blockMap // what arrived, to be met again on every later read

	sums []string // hash of each output that has been read as a whole, else empty

	mu      sync.Mutex // guards saved and its file, and waiting
	saved   checkpoint
	waiting []int // ranges that an output still waits for
}

// path turns a name inside the install into a host path below the partial directory.
func (e *engine) path(name string) string {
	return filepath.Join(e.paths.partial, filepath.FromSlash(name))
}

// save writes the checkpoint; callers hold mu or are alone.
func (e *engine) save() error {
	if err := writeDurably(e.fs, e.paths.checkpoint, e.saved.encode(), 0o600); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	return nil
}

// reserve creates the partial directory with every output at full size and its head in place, makes all of it
// durable, and then writes the first checkpoint: from there on the work is worth resuming.
func (e *engine) reserve() error {
	e.meter.phase(PhaseReserve, "", 0, 0)
	if err := removeTree(e.fs, e.paths.partial); err != nil {
		return fmt.Errorf("clear %s: %w", e.paths.partial, err)
	}
	if err := e.fs.Mkdir(e.paths.partial, 0o755); err != nil {
		return err
	}
	for _, dir := range e.art.Dirs {
		if err := e.fs.Mkdir(e.path(dir), 0o755); err != nil {
			return err
		}
	}
	for i := range e.art.Plan.Files {
		if err := e.createOutput(&e.art.Plan.Files[i]); err != nil {
			return err
		}
	}
	if err := e.syncDirs(); err != nil {
		return err
	}
	return e.save()
}

func (e *engine) createOutput(out *Output) error {
	f, err := e.fs.Create(e.path(out.Path), 0o644)
	if err != nil {
		return err
	}
	e.files = append(e.files, f)
	if err := f.Truncate(out.Size); err != nil {
		return fmt.Errorf("reserve %d bytes for %s: %w", out.Size, out.Path, err)
	}
	if len(out.Head) > 0 {
		if _, err := f.WriteAt(out.Head, 0); err != nil {
			return fmt.Errorf("write the head of %s: %w", out.Path, err)
		}
	}
	return f.Sync()
}

// syncDirs makes the names in the partial directory durable, innermost first, and its own name last.
func (e *engine) syncDirs() error {
	for _, dir := range slices.Backward(e.art.Dirs) {
		if err := e.fs.SyncDir(e.path(dir)); err != nil {
			return err
		}
	}
	if err := e.fs.SyncDir(e.paths.partial); err != nil {
		return err
	}
	return e.fs.SyncDir(e.paths.parent)
}

// close releases the outputs; it may be called more than once.
func (e *engine) close() error {
	var errs []error
	for _, f := range e.files {
		errs = append(errs, f.Close())
	}
	e.files = nil
	return errors.Join(errs...)
}

// each runs work for the numbers 0 to n-1 on up to e.workers goroutines, each with a buffer of its own, in order of
// start. The first failure stops the others; it is the one returned.
func (e *engine) each(ctx context.Context, n int, work func(ctx context.Context, i int, buf []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(e.workers, n) {
		wg.Go(func() {
			tile := tiles.Get().(*[tileBytes]byte)
			defer tiles.Put(tile)
			for i := range next {
				if err := work(ctx, i, tile[:]); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// tiles are the buffers that payload passes through, one per worker.
var tiles = sync.Pool{New: func() any { return new([tileBytes]byte) }}

// readExactly fills p from f at off. A file that ends early wraps ErrDamaged.
func readExactly(f io.ReaderAt, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %d of %d bytes at offset %d", ErrDamaged, n, len(p), off)
	}
	return err
}

// openOutputs opens what an earlier run has reserved. whole is false when an output is absent, of another size, or
// without its head: nothing in such a directory is worth keeping.
func (e *engine) openOutputs() (whole bool, err error) {
	for i := range e.art.Plan.Files {
		out := &e.art.Plan.Files[i]
		f, err := e.fs.OpenWrite(e.path(out.Path))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		e.files = append(e.files, f)
		size, err := f.Size()
		if err != nil {
			return false, err
		}
		if size != out.Size {
			return false, nil
		}
		head := make([]byte, len(out.Head))
		if err := readExactly(f, head, 0); err != nil || string(head) != string(out.Head) {
			return false, nil
		}
	}
	return true, nil
}
