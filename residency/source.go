package residency

import (
	"fmt"
	"io"
	"os"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A File is one layer's experts. ReadAt is called from several goroutines. Mapped and uncached reading need an
// *os.File.
type File interface {
	io.ReaderAt
	io.Closer
}

// A Source opens layer files and says where experts lie in them. Methods may be called from any goroutine.
type Source interface {
	// OpenLayer opens the file of one layer; the streamer closes it.
	OpenLayer(gturbo.LayerID) (File, error)
	// ExpertOffset is the byte offset of an expert's blob in its layer's file.
	ExpertOffset(gturbo.LayerID, gturbo.ExpertID) int64
}

// Dims holds what the streamer must know about the model.
type Dims struct {
	Layers  int // L
	Experts int // E, per layer
	Stride  int // bytes of one expert's blob, a multiple of 16384
}

func (d Dims) validate() error {
	if d.Layers < 1 || d.Experts < 1 || d.Stride < 1 || d.Stride%strideAlign != 0 {
		return fmt.Errorf("%d layers of %d experts of %d bytes: want at least one of each, bytes a multiple of %d: %w",
			d.Layers, d.Experts, d.Stride, strideAlign, ErrOptions)
	}
	return nil
}

// strideAlign is the alignment of the format. It covers every page and disk block size that uncached reads need.
const strideAlign = 16384

// LayerFiles is what an install on disk offers; *gturbo.Install has it.
type LayerFiles interface {
	OpenLayer(gturbo.LayerID) (*os.File, error)
	ExpertOffset(gturbo.LayerID, gturbo.ExpertID) int64
}

// Files makes a Source of an install on disk.
func Files(l LayerFiles) Source { return files{l} }

type files struct{ LayerFiles }

func (f files) OpenLayer(layer gturbo.LayerID) (File, error) {
	file, err := f.LayerFiles.OpenLayer(layer)
	if err != nil {
		return nil, err
	}
	return file, nil
}
