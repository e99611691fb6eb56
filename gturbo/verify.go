package gturbo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// VerifyOptions says who hears about a verification. The zero value is silent.
type VerifyOptions struct {
	// Progress is told the bytes hashed so far and in all. Default: nil.
	Progress func(file string, done, total int64)
	// Tool is written into the receipt. Default: "fieldfare verify".
	Tool string
}

// A VerifyReport says what Verify found.
type VerifyReport struct {
	Path           string // standardised path of the install
	ManifestSHA256 string
	Manifest       *Manifest
	Files          int   // files checked, the manifest included
	Bytes          int64 // bytes of these files
	// Extras are entries that nobody declared, as paths relative to the install. They are reported, not refused.
	Extras []string
	// Damages holds what is wrong, in the order of the paths; empty for a sound install.
	Damages []Damage
	// Receipt is the receipt that was written, nil if the install is damaged.
	Receipt *Receipt
}

// Verify checks every file that the manifest of the install at path lists, by size and digest, without loading the
// model, and writes a fresh receipt. The tokenizer's files count; the resident index is not parsed, since its digest
// vouches for it.
//
// A damaged install gives a report and a *DamageError that holds the same damages, and keeps the receipt it had.
// Metadata that breaks the format's rules gives the sentinels of errors.go. A finished context is returned as it is.
func Verify(ctx context.Context, path string, opts VerifyOptions) (*VerifyReport, error) {
	root, err := OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	v := verifier{root: root, opts: opts, report: &VerifyReport{Path: root.Path()}}
	if err := v.readManifest(); err != nil {
		return nil, err
	}
	if err := v.checkFiles(ctx); err != nil {
		return nil, err
	}
	if v.report.Extras, err = scanExtras(ctx, root, v.report.Manifest); err != nil {
		return v.report, err
	}
	if len(v.report.Damages) > 0 {
		return v.report, &DamageError{Install: root.Path(), Damages: v.report.Damages}
	}
	if err := v.checkLayout(); err != nil {
		return v.report, err
	}
	return v.report, v.writeReceipt()
}

type verifier struct {
	root     *Root
	opts     VerifyOptions
	report   *VerifyReport
	manifest []byte
}

func (v *verifier) readManifest() error {
	data, err := v.root.ReadFile(ManifestFile, MaxManifestSize)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("verify %s: %w", v.root.Path(), ErrPartial)
	}
	if err != nil {
		return err
	}
	m, err := DecodeManifest(data)
	if err != nil {
		return err
	}
	if _, ok := m.Files[LayoutFile]; !ok {
		return fmt.Errorf("%s: files: %s is not listed: %w", ManifestFile, LayoutFile, ErrMissingFile)
	}
	v.manifest = data
	v.report.Manifest, v.report.ManifestSHA256 = m, SHA256(data)
	v.report.Files, v.report.Bytes = 1, int64(len(data))
	return nil
}

func (v *verifier) checkFiles(ctx context.Context) error {
	files := v.report.Manifest.Files
	total := uint64(len(v.manifest))
	for _, record := range files {
		var ok bool
		if total, ok = add(total, record.Size); !ok || total > maxFileSize {
			return fmt.Errorf("%s: files: sum of sizes: %w", ManifestFile, ErrOverflow)
		}
	}
	toHash := int64(total) - int64(len(v.manifest))
	var done int64
	for _, name := range slices.Sorted(maps.Keys(files)) {
		progress := func(n int64) {
			if done += n; v.opts.Progress != nil {
				v.opts.Progress(name, done, toHash)
			}
		}
		d, err := v.checkFile(ctx, name, progress)
		if err != nil {
			return err
		}
		v.report.Files++
		if d != nil {
			v.report.Damages = append(v.report.Damages, *d)
			continue
		}
		v.report.Bytes += int64(files[name].Size)
	}
	return nil
}

func (v *verifier) checkFile(ctx context.Context, name string, progress func(int64)) (*Damage, error) {
	record := v.report.Manifest.Files[name]
	f, d := openListed(v.root, name, record)
	if d != nil {
		progress(int64(record.Size)) // keeps the sum honest: this file is dealt with
		return d, nil
	}
	defer f.Close()
	return hashListed(ctx, f, name, record, progress)
}

// checkLayout decodes the layout and holds it against the manifest.
func (v *verifier) checkLayout() error {
	data, err := v.root.ReadFile(LayoutFile, MaxLayoutSize)
	if err != nil {
		return err
	}
	layout, err := DecodeLayout(data)
	if err != nil {
		return err
	}
	return layout.CheckManifest(v.report.Manifest)
}

func (v *verifier) writeReceipt() error {
	tool := v.opts.Tool
	if tool == "" {
		tool = "fieldfare verify"
	}
	receipt := NewReceipt(v.report.Manifest, v.manifest, v.root.Path(), tool, time.Now())
	receipt.SourceRevision = v.report.Manifest.SourceSnapshotHash
	data, err := receipt.Encode()
	if err != nil {
		return err
	}
	if err := v.root.WriteFile(ReceiptFile, data); err != nil {
		return err
	}
	v.report.Receipt = receipt
	return nil
}
