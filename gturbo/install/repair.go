package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
	Rebuilt      []string        // documents that were made anew: manifest, layout, receipt
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
	meter  *meter
	report *RepairReport

	snap *Snapshot // nil until something has to be fetched or made anew
	art  *Artifact
}

func (r *repair) run(ctx context.Context) error {
	if err := r.manifest(ctx); err != nil {
		return err
	}
	report, err := Verify(ctx, r.paths.requested, r.verifyOptions())
	var damage *gturbo.DamageError
	if err == nil || !errors.As(err, &damage) {
		return err
	}
	r.report.Damages = damage.Damages
	if err := r.plan(ctx); err != nil {
		return err
	}
	if want := report.Manifest.SourceSnapshotHash; want != snapshotHash(r.snap) {
		return fmt.Errorf("%w: the install was made from %s, the source is %s", ErrStateIncompatible, want, snapshotHash(r.snap))
	}
	if err := r.mend(ctx); err != nil {
		return err
	}
	return r.vouch(ctx, report.Manifest)
}

// vouch holds every file that was mended to the manifest's digest, the others having been found sound, and then writes
// a receipt for all of them.
func (r *repair) vouch(ctx context.Context, m *gturbo.Manifest) error {
	mended := map[string]gturbo.FileRecord{}
	var total int64
	for _, d := range r.report.Damages {
		if _, ok := mended[d.File]; !ok {
			total += int64(d.Want.Size)
		}
		mended[d.File] = d.Want
	}
	r.meter.phase(PhaseHash, "", total, 0)
	for file, want := range mended {
		if err := r.judge(ctx, file, want); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	raw, err := readSmall(r.fs, r.path(manifestName), gturbo.MaxManifestSize)
	if err != nil {
		return err
	}
	receipt := gturbo.NewReceipt(m, raw, r.paths.requested, "fieldfare repair", time.Now())
	receipt.SourceRepoID, receipt.SourceRevision = m.ModelID, knownRevision(r.snap)
	data, err := receipt.Encode()
	if err != nil {
		return err
	}
	return writeDurably(r.fs, r.path(receiptName), data, 0o644)
}

func (r *repair) judge(ctx context.Context, file string, want gturbo.FileRecord) error {
	f, err := r.fs.Open(r.path(file))
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	sum, err := gturbo.SHA256At(ctx, f, size, r.meter.add)
	if err != nil {
		return err
	}
	if found := (gturbo.FileRecord{Size: uint64(size), SHA256: sum}); !found.Equal(want) {
		return fmt.Errorf("%w beyond what the source can mend: %d bytes with SHA-256 %s, expected %d with %s",
			ErrDamaged, size, sum, want.Size, want.SHA256)
	}
	return nil
}

func (r *repair) verifyOptions() gturbo.VerifyOptions {
	began := false
	last := int64(0)
	return gturbo.VerifyOptions{Tool: "fieldfare repair", Progress: func(file string, done, total int64) {
		if !began {
			r.meter.phase(PhaseCheck, "", total, 0)
			began = true
		}
		r.meter.add(done - last)
		last = done
	}}
}

// plan reads the source's small files and works out where everything came from.
func (r *repair) plan(ctx context.Context) error {
	if r.art != nil {
		return nil
	}
	r.meter.phase(PhaseMetadata, "", 0, 0)
	var err error
	if r.snap, err = LoadSnapshot(ctx, r.src, ""); err != nil {
		return err
	}
	r.art, err = TextArtifact(r.snap, DefaultChunk, Receipt{Path: r.paths.requested, Time: time.Now()})
	return err
}

// manifest makes a damaged manifest anew from the receipt, which holds every file's digest and the manifest's own.
func (r *repair) manifest(ctx context.Context) error {
	name := filepath.Join(r.paths.final, manifestName)
	raw, err := readSmall(r.fs, name, gturbo.MaxManifestSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrTooLarge) {
		return err
	}
	_, decodeErr := gturbo.DecodeManifest(raw)
	receipt := r.receipt()
	if receipt == nil || gturbo.EqualSHA256(receipt.ManifestSHA256, gturbo.SHA256(raw)) {
		if decodeErr != nil {
			return fmt.Errorf("%w: manifest and receipt are both unusable; install again: %w", ErrDamaged, decodeErr)
		}
		return nil // the verification that follows writes a receipt where there is none
	}
	if err := r.plan(ctx); err != nil {
		return err
	}
	files := receipt.Files
	delete(files, manifestName)
	rebuilt, _, err := r.art.Seal(files)
	switch {
	case err == nil && gturbo.EqualSHA256(gturbo.SHA256(rebuilt), receipt.ManifestSHA256):
		r.report.Rebuilt = append(r.report.Rebuilt, manifestName)
		return writeDurably(r.fs, name, rebuilt, 0o644)
	case decodeErr != nil:
		return fmt.Errorf("%w: the manifest is unusable and cannot be made anew; install again: %w", ErrDamaged, decodeErr)
	}
	return nil // then it is the receipt that is wrong
}

// receipt returns the receipt, or nil when it cannot be used.
func (r *repair) receipt() *gturbo.Receipt {
	raw, err := readSmall(r.fs, filepath.Join(r.paths.final, receiptName), gturbo.MaxReceiptSize)
	if err != nil {
		return nil
	}
	receipt, err := gturbo.DecodeReceipt(raw)
	if err != nil {
		return nil
	}
	return receipt
}
