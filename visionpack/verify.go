package visionpack

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo"
)

// VerifyOptions says who hears about a verification.
type VerifyOptions struct {
	// Progress is told the bytes hashed so far and in all. Default: nil.
	Progress func(file string, done, total int64)
	// Tool is written into the receipt. Default: "fieldfare verify".
	Tool string
}

// A Report says what Verify found.
type Report struct {
	Path           string
	ManifestSHA256 string
	Manifest       *Manifest
	Files          int   // files checked, the manifest included
	Bytes          int64 // bytes of these files
	// NewReceipt says why a receipt was written; nil when the one that was there vouches for the pack.
	NewReceipt error
}

// Verify checks every byte of the pack at path and its binding to the text model. A pack that is sound but whose
// receipt is missing, unreadable or of another place (the pack was moved or copied) gets a new one. Every refusal has
// its own sentinel. A finished context is returned as it is.
func Verify(ctx context.Context, path string, text *TextModel, o VerifyOptions) (*Report, error) {
	if err := Find(path); err != nil {
		return nil, err
	}
	root, err := gturbo.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	p := &Pack{root: root}
	manifest, err := p.readManifest(text)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Path: canonicalPath(root.Path()), Manifest: p.manifest, ManifestSHA256: p.manifestSHA256,
		Files: 1, Bytes: int64(len(manifest)),
	}
	receipt, err := readReceipt(root)
	if err == nil {
		err = receipt.CheckBinding(p.manifest, manifest, path)
	}
	if err != nil && !errors.Is(err, ErrReceipt) {
		return r, err
	}
	r.NewReceipt = err
	if err := r.checkFiles(ctx, p, o); err != nil {
		return r, err
	}
	if r.NewReceipt == nil {
		return r, nil
	}
	if o.Tool == "" {
		o.Tool = "fieldfare verify"
	}
	data, err := NewReceipt(p.manifest, manifest, r.Path, o.Tool).Encode()
	if err != nil {
		return r, err
	}
	return r, root.WriteFile(ReceiptFile, data)
}

// checkFiles compares names, sizes and digests, and reads the processor file.
func (r *Report) checkFiles(ctx context.Context, p *Pack, o VerifyOptions) error {
	names := fourNames
	if errors.Is(r.NewReceipt, ErrReceiptMissing) {
		names = []string{ManifestFile, ProcessorFile, WeightsFile}
	}
	if err := checkEntries(p.root, names); err != nil {
		return err
	}
	total := int64(0)
	for _, record := range p.manifest.Files {
		total += int64(record.Size)
	}
	done := int64(0)
	for _, name := range []string{ProcessorFile, WeightsFile} {
		err := hashFile(ctx, p.root, name, p.manifest.Files[name], func(n int64) {
			if done += n; o.Progress != nil {
				o.Progress(name, done, total)
			}
		})
		if err != nil {
			return err
		}
		r.Files++
		r.Bytes += int64(p.manifest.Files[name].Size)
	}
	_, err := readProcessor(p.root, p.manifest, p.tower)
	return err
}

func hashFile(ctx context.Context, root *gturbo.Root, name string, want gturbo.FileRecord, progress func(int64)) error {
	f, err := openSized(root, name, want)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := gturbo.SHA256At(ctx, f, int64(want.Size), progress)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	if !gturbo.EqualSHA256(got, want.SHA256) {
		return fmt.Errorf("%s: SHA-256 %s, the manifest says %s: %w", name, got, want.SHA256, ErrChecksum)
	}
	return nil
}

// Unpacked reports whether the pack at path is the one with this encoded manifest, whole by its sizes and with a
// receipt for that place: what an unpacker asks before it unpacks again.
func Unpacked(path string, manifest []byte) bool {
	root, err := gturbo.OpenRoot(path)
	if err != nil {
		return false
	}
	defer root.Close()
	m, found, err := readManifest(root)
	if err != nil || string(found) != string(manifest) {
		return false
	}
	receipt, err := readReceipt(root)
	if err != nil || receipt.CheckBinding(m, manifest, path) != nil || checkEntries(root, fourNames) != nil {
		return false
	}
	for name, record := range m.Files {
		f, err := openSized(root, name, record)
		if err != nil {
			return false
		}
		f.Close()
	}
	return true
}
