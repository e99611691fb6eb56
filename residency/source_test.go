package residency

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

var small = Dims{Layers: 3, Experts: 24, Stride: strideAlign}

// disk is a Source whose bytes name themselves: expert e of layer l is filled with the word l<<16|e+1. Experts lie in
// reverse order in the file, so that an id taken for a rank is seen at once.
type disk struct {
	dims Dims
	dir  string

	mu     sync.Mutex
	open   int
	opened int
	reads  int
	// wrap, if set, stands between the streamer and the file.
	wrap func(gturbo.LayerID, File) File
	// fail, if set, is the error of OpenLayer.
	fail error
}

func tag(l gturbo.LayerID, e gturbo.ExpertID) uint32 { return uint32(l)<<16 | uint32(e+1) }

func newDisk(t *testing.T, dims Dims) *disk {
	t.Helper()
	d := &disk{dims: dims, dir: t.TempDir()}
	for l := range gturbo.LayerID(dims.Layers) {
		b := make([]byte, dims.Experts*dims.Stride)
		for e := range gturbo.ExpertID(dims.Experts) {
			blob := b[d.ExpertOffset(l, e):][:dims.Stride]
			for i := 0; i < len(blob); i += 4 {
				binary.LittleEndian.PutUint32(blob[i:], tag(l, e))
			}
		}
		if err := os.WriteFile(d.path(l), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *disk) path(l gturbo.LayerID) string {
	return filepath.Join(d.dir, fmt.Sprintf("layer_%02d.bin", l))
}

func (d *disk) ExpertOffset(_ gturbo.LayerID, e gturbo.ExpertID) int64 {
	return int64(d.dims.Experts-1-int(e)) * int64(d.dims.Stride)
}

func (d *disk) OpenLayer(l gturbo.LayerID) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return nil, d.fail
	}
	f, err := os.Open(d.path(l))
	if err != nil {
		return nil, err
	}
	d.open++
	d.opened++
	if d.wrap == nil {
		return f, nil
	}
	return &counted{d: d, File: d.wrap(l, f)}, nil
}

// counted counts reads and closes; only wrapped files go through it, mapped and uncached ones must be *os.File.
type counted struct {
	File
	d *disk
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.d.mu.Lock()
	c.d.reads++
	c.d.mu.Unlock()
	return c.File.ReadAt(p, off)
}

func (c *counted) Close() error {
	c.d.mu.Lock()
	c.d.open--
	c.d.mu.Unlock()
	return c.File.Close()
}

func (d *disk) counts() (open, opened, reads int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open, d.opened, d.reads
}

func plainFile(_ gturbo.LayerID, f File) File { return f }

// newStreamer makes a streamer that the test's end closes, and checks that nothing is left then.
func newStreamer(t *testing.T, d *disk, opts Options) *Streamer {
	t.Helper()
	before := pages.Outstanding()
	s, err := NewStreamer(d, d.dims, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := pages.Outstanding(); n != before {
			t.Errorf("%d regions outstanding after Close, want %d", n, before)
		}
		if open, _, _ := d.counts(); d.wrap != nil && open != 0 {
			t.Errorf("%d layer files open after Close", open)
		}
	})
	return s
}

// checkBytes fails unless b is expert e of layer l from end to end.
func checkBytes(t testing.TB, l gturbo.LayerID, e gturbo.ExpertID, b []byte) {
	t.Helper()
	for i := 0; i < len(b); i += 4 {
		if got := binary.LittleEndian.Uint32(b[i:]); got != tag(l, e) {
			t.Errorf("layer %d expert %d: byte %d belongs to %#x, want %#x", l, e, i, got, tag(l, e))
			return
		}
	}
}

// span returns the ids [lo, hi).
func span(lo, hi int) []gturbo.ExpertID {
	var ids []gturbo.ExpertID
	for e := lo; e < hi; e++ {
		ids = append(ids, gturbo.ExpertID(e))
	}
	return ids
}

// gate is a File whose reads wait until they are let through, one at a time or all.
type gate struct {
	File
	began chan int64 // offset of each read that has begun
	pass  chan struct{}
}

func newGate(f File) *gate {
	return &gate{File: f, began: make(chan int64, 1000), pass: make(chan struct{}, 1000)}
}

func (g *gate) ReadAt(p []byte, off int64) (int, error) {
	g.began <- off
	<-g.pass
	return g.File.ReadAt(p, off)
}
