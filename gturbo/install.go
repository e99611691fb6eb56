package gturbo

import (
	"fmt"
	"sync/atomic"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// An Install is an open .gturbo directory. It is safe for concurrent use, except that Close must come last.
type Install struct {
	root           *Root
	opts           OpenOptions
	manifest       *Manifest
	manifestSHA256 string
	source         *SourceConfig
	layout         *Layout
	experts        ExpertLayout
	entries        map[string]*Entry
	payload        int64 // offset of the payload in model_weights.bin
	region         *pages.Region
	layers         []layerState
	closed         atomic.Bool
}

// A Tensor is a resident tensor as views of the mapping: valid until the install is closed, never to be written.
//
// Views begin at any even address, 8-bit codes at any address at all: in odd layers packed codes start at 2 mod 4.
// Never read them as aligned 32-bit words.
type Tensor struct {
	Name  string
	DType DType
	// Shape is logical, as if dequantized, slowest axis first.
	Shape []int
	// Data holds the elements, or packed codes of Bits bits when Scales and Biases, bf16 [rows, columns/64], are set.
	Data, Scales, Biases []byte
	Bits                 int // 0 unless quantized
}

// Manifest returns the manifest; read-only.
func (in *Install) Manifest() *Manifest { return in.manifest }

// ManifestSHA256 returns the digest of manifest.json as it lies on disk, in lowercase hex.
func (in *Install) ManifestSHA256() string { return in.manifestSHA256 }

// Path returns the standardised path that the install was opened by.
func (in *Install) Path() string { return in.root.Path() }

// Source returns the configuration of the checkpoint that the install was made from; read-only.
func (in *Install) Source() *SourceConfig { return in.source }

// Region returns the whole mapped payload that all tensors lie in. It begins at a multiple of 16 KiB in the file and
// on a page in memory.
func (in *Install) Region() []byte { return in.region.Bytes() }

// Experts returns where the tensors of an expert lie in its blob.
func (in *Install) Experts() ExpertLayout { return in.experts }

// Tensor returns the resident tensor of that name, or an error that wraps ErrTensorMissing. Every tensor that the
// runtime needs was checked when the install was opened.
func (in *Install) Tensor(name string) (Tensor, error) {
	e, ok := in.entries[name]
	if !ok {
		return Tensor{}, fmt.Errorf("%s: %q: %w", WeightsFile, name, ErrTensorMissing)
	}
	t := Tensor{
		Name: e.Name, DType: e.DType,
		Data: in.view(e.Weights), Scales: in.view(e.Scales), Biases: in.view(e.Biases),
	}
	elements := uint64(1)
	for _, d := range e.Shape {
		if d > 0 {
			t.Shape = append(t.Shape, int(d))
			elements *= uint64(d)
		}
	}
	if t.Scales != nil && elements > 0 {
		t.Bits = int(e.Weights.Size * 8 / elements)
	}
	return t, nil
}

func (in *Install) view(x Extent) []byte {
	if x.Size == 0 {
		return nil
	}
	lo := int64(x.Offset) - in.payload
	hi := lo + int64(x.Size)
	return in.region.Bytes()[lo:hi:hi]
}

// TokenizerFile returns the bytes of a file in the tokenizer folder, within the format's size cap for it. The error
// wraps fs.ErrNotExist when the install has no such file, ErrPathGrammar for a name that the format does not know.
func (in *Install) TokenizerFile(name string) ([]byte, error) {
	return readTokenizerFile(in.root, name)
}

// Close unmaps the weights and closes the directory. Views of tensors are invalid from then on; files that OpenLayer
// returned stay open. A second Close does nothing.
func (in *Install) Close() error {
	if in.closed.Swap(true) {
		return nil
	}
	err := in.root.Close()
	if in.region != nil {
		if unmapErr := in.region.Close(); err == nil {
			err = unmapErr
		}
	}
	return err
}
