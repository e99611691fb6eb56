package synth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
)

// GGUFOptions say which GGUF file to write. They are copied in and never change.
type GGUFOptions struct {
	Options
	// Output is the file to write, in a folder that exists. Required.
	Output string
	// Overwrite replaces an existing file, once the new one is complete.
	Overwrite bool
	// Pure has the token table in Q4_0 too. By default it is in Q6_K, as llama.cpp's quantizer makes tied tables, which
	// costs a decoded token 190 MB more at the full shapes.
	Pure bool
	// Progress is told how many bytes are written, one call at a time. Optional.
	Progress func(done, total int64)
}

// WriteGGUF writes a model of the same shapes for llama.cpp, to compare with, and returns the size of the file:
// architecture gemma4, matrices in Q4_0, router and norms in F32, no image tower. Norms and scales are those of the
// synthetic checkpoint; the matrices follow the same distribution but are other ones, because affine groups of 64 have no
// equal in Q4_0. So speeds can be compared and texts cannot.
//
// The file appears under its name when it is complete and synced; until then it is called Output.partial, which an error
// deletes. Errors wrap ErrConfig, ErrTokenizer or, without Overwrite, fs.ErrExist.
func WriteGGUF(ctx context.Context, opts GGUFOptions) (int64, error) {
	if opts.Config == nil {
		opts.Config = Full()
	}
	m, err := parse(opts.Config)
	if err != nil {
		return 0, err
	}
	g, err := m.gguf(&opts)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(opts.Output); !opts.Overwrite && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("write %s: %w", opts.Output, errors.Join(err, fs.ErrExist))
	}
	if err := g.write(ctx, opts.Output, opts.Progress); err != nil {
		return 0, err
	}
	return g.size(), nil
}

// write writes the whole file under a temporary name and renames it.
func (g *gguf) write(ctx context.Context, name string, progress func(done, total int64)) error {
	partial := name + ".partial"
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is being written by another run, or was left by one that was killed: %w", partial, err)
	}
	if err != nil {
		return err
	}
	err = g.fill(ctx, f, progress)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		os.Remove(partial)
	}
	return err
}

// pieceBytes is about how much one goroutine computes and writes at a time.
const pieceBytes = 4 << 20

// A piece is a run of blocks of one tensor.
type piece struct {
	tensor *ggufTensor
	lo, n  int64 // blocks
}

// fill writes header and tensors to f; every processor computes pieces.
func (g *gguf) fill(ctx context.Context, f *os.File, progress func(done, total int64)) error {
	if err := f.Truncate(g.size()); err != nil {
		return err
	}
	if _, err := f.WriteAt(g.header, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pieces := make(chan piece)
	var (
		workers sync.WaitGroup
		mu      sync.Mutex // of done, and around progress
		done    = int64(len(g.header))
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			buf := make([]byte, pieceBytes)
			for p := range pieces {
				if err := g.writePiece(f, p, buf); err != nil {
					cancel(err)
					continue
				}
				mu.Lock()
				done += p.n * p.tensor.kind.blockBytes
				if progress != nil {
					progress(done, g.size())
				}
				mu.Unlock()
			}
		})
	}
	g.cut(ctx, pieces)
	close(pieces)
	workers.Wait()
	return context.Cause(ctx)
}

// cut sends every piece, in the order of the file, until ctx ends.
func (g *gguf) cut(ctx context.Context, pieces chan<- piece) {
	for i := range g.tensors {
		t := &g.tensors[i]
		step := pieceBytes / t.kind.blockBytes
		for lo := int64(0); lo < t.blocks(); lo += step {
			select {
			case pieces <- piece{t, lo, min(step, t.blocks()-lo)}:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (g *gguf) writePiece(f *os.File, p piece, buf []byte) error {
	width := p.tensor.kind.blockBytes
	buf = buf[:p.n*width]
	p.tensor.fill(buf, uint64(p.lo))
	_, err := f.WriteAt(buf, int64(len(g.header))+p.tensor.offset+p.lo*width)
	return err
}
