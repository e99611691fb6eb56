package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// Size is what can be known of an install without loading it: enough to plan memory.
type Size struct {
	Config Config
	// Memory is what the planner wants to know; its Kept is zero.
	Memory residency.Model
	// Digest is the SHA-256 of the manifest, in lowercase hex.
	Digest string
	// Experts is the size of all experts together, in bytes.
	Experts int64
	// LayerFile is the path of one layer's experts: what the speed of the disk is measured on.
	LayerFile string
}

// A ScratchSizer is a Backend that says beforehand what its executors allocate. Found by one type assertion, in
// ReadSize; of other backends the size is estimated.
type ScratchSizer interface {
	// ScratchBytes is the memory of an executor, caches left out.
	ScratchBytes(cfg *Config, opts ExecutorOptions) int64
}

// A Needer is an Extension that says beforehand what it will take of memory. Found by one type assertion, in ReadSize.
type Needer interface {
	// Need describes what the extension takes beside the model at path. An extension that would fail to start needs
	// nothing: Init reports why.
	Need(ctx context.Context, path string, backend Backend) (Need, error)
}

// Need is what an extension takes, in bytes but for Span.
type Need struct {
	Span     int   // most soft tokens of one attachment
	Kept     int64 // mapped for good
	Encoding int64 // held while an attachment is encoded and the experts are given back; 0 if they are not
}

// ReadSize reads the metadata of the install at path and asks the backend and the extensions of opts what they will
// take. Nothing is hashed or mapped. Errors are gturbo's.
func ReadSize(ctx context.Context, path string, opts Options) (*Size, error) {
	root, err := gturbo.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := root.ReadFile(gturbo.ManifestFile, gturbo.MaxManifestSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", root.Path(), gturbo.ErrPartial)
	}
	if err != nil {
		return nil, err
	}
	m, err := gturbo.DecodeManifest(data)
	if err != nil {
		return nil, err
	}
	source, err := gturbo.ReadSource(root, m)
	if err != nil {
		return nil, err
	}
	s := &Size{Config: newConfig(source), Digest: gturbo.SHA256(data)}
	cfg := &s.Config
	s.Memory = residency.Model{
		Dims: residency.Dims{Layers: len(cfg.Layers), Experts: cfg.Experts, Stride: int(m.ExpertStride)},
		TopK: cfg.TopK, Window: cfg.Window, MaxContext: cfg.MaxPositions,
		Resident: int64(m.Files[gturbo.WeightsFile].Size),
		Program:  programBytes(cfg, int64(m.Files["tokenizer/tokenizer.json"].Size)),
	}
	s.Experts = int64(len(cfg.Layers)) * int64(cfg.Experts) * int64(m.ExpertStride)
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if strings.HasPrefix(name, gturbo.ExpertsDir+"/") && strings.HasSuffix(name, ".bin") {
			s.LayerFile = filepath.Join(root.Path(), filepath.FromSlash(name))
			break
		}
	}
	s.cache(opts.KV)
	s.scratch(opts)
	return s, s.extensions(ctx, path, opts)
}

// programBytes is what the process takes beside tensors: code, stacks and heap (measured, docs/experiments), the
// tokenizer's tables, logits and what a sampler holds beside them.
func programBytes(cfg *Config, tokenizerFile int64) int64 {
	const code = 56 << 20
	return code + tokenizerFile + 24*int64(cfg.Vocab)
}

// cache sums up the KV cache per position.
func (s *Size) cache(kv KVType) {
	element := int64(2)
	if kv == KVFloat32 {
		element = 4
	}
	for _, l := range s.Config.Layers {
		row := 2 * int64(l.KVHeads*l.HeadDim) * element
		if l.Full {
			s.Memory.KVPosition += row
		} else {
			s.Memory.KVRow += row
		}
	}
}

// scratch takes the scratch of two chunk lengths: between them and beyond it grows by the row.
func (s *Size) scratch(opts Options) {
	const few, many = defaultChunk, maxChunk
	bytes := func(rows int) int64 {
		if b, ok := opts.Backend.(ScratchSizer); ok {
			return b.ScratchBytes(&s.Config, ExecutorOptions{MaxRows: rows, KV: opts.KV})
		}
		// Residual stream, branches and their inputs, and one result for each chosen expert, in float32.
		return 16<<20 + 4*int64(rows*s.Config.Hidden*(4+s.Config.TopK))
	}
	s.Memory.ScratchRow = (bytes(many) - bytes(few)) / (many - few)
	s.Memory.Scratch = bytes(few) - few*s.Memory.ScratchRow
}

func (s *Size) extensions(ctx context.Context, path string, opts Options) error {
	s.Memory.Span = opts.MaxSpan
	for _, x := range opts.Extensions {
		n, ok := x.(Needer)
		if !ok {
			continue
		}
		need, err := n.Need(ctx, path, opts.Backend)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Name(), err)
		}
		s.Memory.Span = max(s.Memory.Span, need.Span)
		s.Memory.TowerKept += need.Kept
		s.Memory.TowerEncoding += need.Encoding
	}
	return nil
}
