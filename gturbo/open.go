package gturbo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// OpenOptions says how far an install is trusted and who hears about the work. The zero value hashes everything.
type OpenOptions struct {
	// TrustReceipt takes the receipt's word for the expert files instead of hashing each on its first use. The
	// resident weights and the layout are hashed all the same. Default: false.
	TrustReceipt bool
	// Progress is told the bytes hashed so far and in all, while Open runs, on Open's goroutine. Default: nil.
	Progress func(done, total int64)
	// LayerProgress is told the same of one layer's file while OpenLayer hashes it, on the goroutine that called
	// OpenLayer. Default: nil.
	LayerProgress func(layer LayerID, done, total int64)
}

// Open opens the install at path for the runtime: it checks the metadata, hashes the resident weights and maps them
// read-only. Nothing is copied to the Go heap but metadata. Any dimensions of the model family are accepted.
//
// path may be a symbolic link; it is resolved once, and re-pointing it later changes nothing. Below it no link is
// followed. A finished context is returned as it is. Errors: ErrPartial without manifest.json, ErrReceipt when the
// receipt is asked for and does not vouch for the install, *DamageError for files that are not what the manifest
// promises, otherwise the sentinels of errors.go.
func Open(ctx context.Context, path string, opts OpenOptions) (*Install, error) {
	root, err := OpenRoot(path)
	if err != nil {
		return nil, err
	}
	in := &Install{root: root, opts: opts}
	if err := in.load(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// load follows the order of the format: nothing is decoded before it is known to be what was asked for, and the
// descriptor that is hashed is the one that is mapped.
func (in *Install) load(ctx context.Context) error {
	if err := in.loadManifest(); err != nil {
		return err
	}
	weights, layout, err := in.openResident(ctx)
	if err != nil {
		return err
	}
	defer weights.Close()
	defer layout.Close()
	if err := in.loadLayout(layout); err != nil {
		return err
	}
	if in.opts.TrustReceipt {
		if err := in.checkLayerSizes(); err != nil {
			return err
		}
	}
	return in.loadWeights(weights)
}

// loadManifest reads the manifest, the receipt if it counts, and the checkpoint's configuration.
func (in *Install) loadManifest() error {
	data, err := in.root.ReadFile(ManifestFile, MaxManifestSize)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open %s: %w", in.root.Path(), ErrPartial)
	}
	if err != nil {
		return err
	}
	in.manifestSHA256 = SHA256(data)
	var receipt *Receipt
	if in.opts.TrustReceipt {
		if receipt, err = in.readReceipt(); err != nil {
			return err
		}
	}
	if in.manifest, err = DecodeManifest(data); err != nil {
		return err
	}
	if err := in.manifest.CheckRunnable(); err != nil {
		return err
	}
	if receipt != nil {
		record := FileRecord{Size: uint64(len(data)), SHA256: in.manifestSHA256}
		if err := receipt.CheckFiles(in.manifest, record); err != nil {
			return err
		}
	}
	in.source, err = ReadSource(in.root, in.manifest)
	return err
}

func (in *Install) readReceipt() (*Receipt, error) {
	data, err := in.root.ReadFile(ReceiptFile, MaxReceiptSize)
	if err != nil {
		return nil, receiptError(err)
	}
	receipt, err := DecodeReceipt(data)
	if err != nil {
		return nil, err
	}
	return receipt, receipt.CheckBinding(in.manifestSHA256, in.root.Path())
}

// openResident opens weights and layout, compares both sizes, then hashes both.
func (in *Install) openResident(ctx context.Context) (weights, layout *os.File, err error) {
	var files [2]*os.File
	names := [2]string{WeightsFile, LayoutFile}
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close() // a nil File only returns an error
			}
		}
	}()
	var total int64
	for i, name := range names {
		var d *Damage
		if files[i], d = openListed(in.root, name, in.manifest.Files[name]); d != nil {
			return nil, nil, in.damaged(d)
		}
		total += int64(in.manifest.Files[name].Size)
	}
	if size := in.manifest.Files[LayoutFile].Size; size > MaxLayoutSize {
		return nil, nil, fmt.Errorf("%s: %d bytes, metadata cap %d: %w",
			LayoutFile, size, MaxLayoutSize, ErrMetadataCap)
	}
	var done int64
	progress := func(n int64) {
		if done += n; in.opts.Progress != nil {
			in.opts.Progress(done, total)
		}
	}
	for i, name := range names {
		d, err := hashListed(ctx, files[i], name, in.manifest.Files[name], progress)
		if err != nil {
			return nil, nil, err
		}
		if d != nil {
			return nil, nil, in.damaged(d)
		}
	}
	return files[0], files[1], nil
}

func (in *Install) loadLayout(f *os.File) error {
	data, err := readCapped(f, LayoutFile, MaxLayoutSize)
	if err != nil {
		return err
	}
	if in.layout, err = DecodeLayout(data); err != nil {
		return err
	}
	if err := in.layout.CheckManifest(in.manifest); err != nil {
		return err
	}
	in.layers = make([]layerState, in.layout.NumLayers)
	in.experts, err = expertLayout(in.layout, &in.manifest.Arch, in.manifest.Quant)
	return err
}

// loadWeights reads the resident index, holds it to the schema and maps the payload.
func (in *Install) loadWeights(f *os.File) error {
	size := int64(in.manifest.Files[WeightsFile].Size)
	index, err := ReadIndex(f, size)
	if err != nil {
		return fmt.Errorf("%s: %w", WeightsFile, err)
	}
	in.payload, in.entries = int64(index.IndexSize), indexEntries(index)
	s := schema{arch: &in.manifest.Arch, quant: in.manifest.Quant, entries: in.entries}
	if err := s.check(); err != nil {
		return err
	}
	if want := index.IndexSize + index.ResidentSize; uint64(size) != want {
		return fmt.Errorf("%s: %d bytes, its index says %d: %w", WeightsFile, size, want, ErrSize)
	}
	in.region, err = pages.Map("weights", f, in.payload, int64(index.ResidentSize))
	return err
}

func (in *Install) damaged(d *Damage) error {
	return &DamageError{Install: in.root.Path(), Damages: []Damage{*d}}
}
