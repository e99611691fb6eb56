package gturbo

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// layerState remembers which file was hashed for a layer.
type layerState struct {
	mu       sync.Mutex
	verified os.FileInfo // nil until the layer's file has passed
}

// OpenLayer opens the expert file of a layer for reading at ExpertOffset; the caller closes it.
//
// Unless the receipt is trusted, the first call for a layer hashes the file (430 MB for the 26B model); callers who
// come meanwhile wait. A layer that has passed stays verified as long as the install is open, across any number of
// closes and reopens, unless another file has taken its place or its size or time of change differ: then it is hashed
// again. A damaged file is a *DamageError; ErrClosed after Close.
func (in *Install) OpenLayer(layer LayerID) (*os.File, error) {
	if layer < 0 || int(layer) >= len(in.layers) {
		panic(fmt.Sprintf("BUG: gturbo: layer %d of %d", layer, len(in.layers)))
	}
	if in.closed.Load() {
		return nil, fmt.Errorf("open layer %d of %s: %w", layer, in.Path(), ErrClosed)
	}
	name := in.layout.LayerFile(layer)
	f, d := openListed(in.root, name, in.manifest.Files[name])
	if d != nil {
		return nil, in.damaged(d)
	}
	if in.opts.TrustReceipt {
		return f, nil
	}
	if err := in.verifyLayer(layer, name, f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (in *Install) verifyLayer(layer LayerID, name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("layer %d: %s: %w", layer, name, err)
	}
	state := &in.layers[layer]
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.verified != nil && unchanged(state.verified, info) {
		return nil
	}
	record := in.manifest.Files[name]
	var done int64
	d, err := hashListed(context.Background(), f, name, record, func(n int64) {
		if done += n; in.opts.LayerProgress != nil {
			in.opts.LayerProgress(layer, done, int64(record.Size))
		}
	})
	if err != nil {
		return err
	}
	if d != nil {
		return in.damaged(d)
	}
	state.verified = info
	return nil
}

// unchanged reports whether two looks met the same file in the same state, as far as the system tells.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// ExpertOffset returns where the blob of an expert, given by its logical id, begins in its layer's file, in bytes.
func (in *Install) ExpertOffset(layer LayerID, expert ExpertID) int64 {
	return in.layout.Offset(layer, expert)
}

// checkLayerSizes opens every layer file and compares its size.
func (in *Install) checkLayerSizes() error {
	for layer := range in.layers {
		name := in.layout.LayerFile(LayerID(layer))
		f, d := openListed(in.root, name, in.manifest.Files[name])
		if d != nil {
			return in.damaged(d)
		}
		f.Close()
	}
	return nil
}
