package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// RepairOptions say what to repair and where whole bytes come from. They are copied in and never change.
type RepairOptions struct {
	Source   Source      // the checkpoint that the install was made from; required
	Path     string      // the install's directory; required
	Progress func(Event) // called by one goroutine at a time; may be nil
}

// RepairReport says what a repair found and did.
type RepairReport struct {
	Damages      []gturbo.Damage // what was wrong, as narrow as it could be told
	Rebuilt      []string        // documents that were made anew
	FetchedBytes int64           // payload read from the source
}

// Repair makes an install whole again while the rest of it stays in place. It verifies everything, fetches the blocks
// that are wrong and nothing else, writes them where they belong, and believes the result only when the digests of
// the manifest say so. A sound install is left as it is, with a fresh receipt.
//
// It needs a manifest, or a receipt from which the manifest can be made anew: with both lost, install again. The
// install must not be in use (ErrBusy). A source with another index wraps ErrStateIncompatible; damage that the source
// cannot mend, because the install was not made by these rules, wraps ErrDamaged.
func Repair(ctx context.Context, o RepairOptions) (*RepairReport, error) {
	return repairInstall(ctx, o, func(p *paths) (repairKind, error) { return textKind(p), nil })
}

// RepairPack is [Repair] for the image pack at o.Path of the text install textModel.
func RepairPack(ctx context.Context, o RepairOptions, textModel string) (*RepairReport, error) {
	return repairInstall(ctx, o, func(p *paths) (repairKind, error) { return packKind(p, textModel) })
}

func repairInstall(ctx context.Context, o RepairOptions, kind func(*paths) (repairKind, error)) (*RepairReport, error) {
	if o.Source == nil || o.Path == "" {
		return nil, fmt.Errorf("%w: a repair needs a source and a path", ErrOptions)
	}
	fsys := HostFS()
	p, err := resolvePaths(fsys, o.Path, false)
	if err != nil {
		return nil, err
	}
	release, err := p.takeLock(fsys, "repair")
	if err != nil {
		return nil, err
	}
	defer release()
	inUse, err := fsys.Lock(p.use, lockNote("repair"))
	if err != nil {
		return nil, err
	}
	defer inUse.Close()
	r := &repair{
		fs: fsys, src: o.Source, paths: p, meter: newMeter(o.Progress, time.Now), report: &RepairReport{},
	}
	if r.kind, err = kind(&p); err != nil {
		return nil, err
	}
	if err := r.run(ctx); err != nil {
		return r.report, fmt.Errorf("repair %s: %w", p.final, err)
	}
	return r.report, nil
}

// repair is one call of Repair. The caller holds both locks.
type repair struct {
	fs     FS
	src    Source
	paths  paths
	kind   repairKind
	meter  *meter
	report *RepairReport

	art *Artifact // nil until something has to be fetched or made anew
}

// sealed is what an install's manifest, or its receipt, says about the install.
type sealed struct {
	source         string // snapshot hash of the checkpoint; empty where a document does not say
	manifestSHA256 string // of a receipt
	files          map[string]gturbo.FileRecord
}

// repairKind is what a repair must know about the documents of an artifact.
type repairKind struct {
	manifest func(raw []byte) (*sealed, error)
	receipt  func(raw []byte) (*sealed, error)
	// vouch makes a receipt for an install that has been found sound.
	vouch func(manifest []byte) ([]byte, error)
	build func(*Snapshot) (*Artifact, error)
}

func (r *repair) run(ctx context.Context) error {
	raw, m, err := r.manifest(ctx)
	if err != nil {
		return err
	}
	damages, err := r.check(ctx, m.files)
	if err != nil {
		return err
	}
	if damages, err = Narrow(ctx, r.fs, r.paths.final, gturbo.SHA256(raw), damages); err != nil {
		return err
	}
	if r.report.Damages = damages; len(damages) > 0 {
		if err := r.plan(ctx, m.source); err != nil {
			return err
		}
		if err := r.mend(ctx); err != nil {
			return err
		}
		if err := r.judge(ctx); err != nil {
			return err
		}
	}
	receipt, err := r.kind.vouch(raw)
	if err != nil {
		return err
	}
	return writeDurably(r.fs, r.path(receiptName), receipt, 0o644)
}

// manifest returns the manifest and what it says. A damaged one is made anew from the receipt, which holds every
// file's digest and the manifest's own.
func (r *repair) manifest(ctx context.Context) (raw []byte, m *sealed, err error) {
	raw, err = readSmall(r.fs, r.path(manifestName), gturbo.MaxManifestSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrTooLarge) {
		return nil, nil, err
	}
	m, unusable := r.kind.manifest(raw)
	receipt := r.receipt()
	if receipt == nil || gturbo.EqualSHA256(receipt.manifestSHA256, gturbo.SHA256(raw)) {
		if unusable != nil {
			return nil, nil, fmt.Errorf("%w: manifest and receipt are both unusable; install again: %w", ErrDamaged, unusable)
		}
		return raw, m, nil
	}
	if err := r.plan(ctx, ""); err != nil {
		return nil, nil, err
	}
	delete(receipt.files, manifestName)
	rebuilt, _, err := r.art.Seal(receipt.files)
	if err == nil && gturbo.EqualSHA256(gturbo.SHA256(rebuilt), receipt.manifestSHA256) {
		r.report.Rebuilt = append(r.report.Rebuilt, manifestName)
		if m, err = r.kind.manifest(rebuilt); err != nil {
			return nil, nil, err
		}
		return rebuilt, m, writeDurably(r.fs, r.path(manifestName), rebuilt, 0o644)
	}
	if unusable != nil {
		return nil, nil, fmt.Errorf("%w: the manifest is unusable and cannot be made anew; install again: %w",
			ErrDamaged, unusable)
	}
	return raw, m, nil // then it is the receipt that is wrong
}

// receipt returns what the receipt says, or nil when it cannot be used.
func (r *repair) receipt() *sealed {
	raw, err := readSmall(r.fs, r.path(receiptName), gturbo.MaxReceiptSize)
	if err != nil {
		return nil
	}
	receipt, err := r.kind.receipt(raw)
	if err != nil {
		return nil
	}
	return receipt
}

// plan reads the source's small files and works out where everything came from. want is the snapshot hash that the
// source must have, or empty.
func (r *repair) plan(ctx context.Context, want string) error {
	if r.art == nil {
		r.meter.phase(PhaseMetadata, "", 0, 0)
		snap, err := LoadSnapshot(ctx, r.src, "")
		if err != nil {
			return err
		}
		if got := snapshotHash(snap); want != "" && got != want {
			return fmt.Errorf("%w: the install was made from %s, the source is %s", ErrStateIncompatible, want, got)
		}
		if r.art, err = r.kind.build(snap); err != nil {
			return err
		}
	}
	return nil
}

// check compares every file with its record, in the order of the paths.
func (r *repair) check(ctx context.Context, files map[string]gturbo.FileRecord) ([]gturbo.Damage, error) {
	var total int64
	for _, record := range files {
		total += int64(record.Size)
	}
	r.meter.phase(PhaseCheck, "", total, 0)
	var damages []gturbo.Damage
	for _, file := range slices.Sorted(maps.Keys(files)) {
		d, err := r.checkFile(ctx, file, files[file])
		if err != nil {
			return nil, err
		}
		if d != nil {
			damages = append(damages, *d)
		}
	}
	return damages, nil
}

// judge holds every file that was mended to its record; the others have been found sound.
func (r *repair) judge(ctx context.Context) error {
	mended := map[string]gturbo.FileRecord{}
	for _, d := range r.report.Damages {
		mended[d.File] = d.Want
	}
	left, err := r.check(ctx, mended)
	if err != nil || len(left) == 0 {
		return err
	}
	return fmt.Errorf("%w beyond what the source can mend: %w",
		ErrDamaged, &gturbo.DamageError{Install: r.paths.final, Damages: left})
}
