package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
)

// PackOptions say which image pack to install and for which text model.
type PackOptions struct {
	Options          // Output defaults to the sibling of TextModel that readers look for
	TextModel string // the text install that the pack is bound to; required
	// Seal makes the pack's manifest and receipt; required. The format of both is the business of package visionpack.
	Seal func(PackFacts) (manifest, receipt []byte, err error)
}

// PackFacts are what a pack's documents say.
type PackFacts struct {
	ModelID            string // of the source, and its repository
	Revision           string // the source's commit, or what stands in for one
	SourceIndexSHA256  string
	TextSnapshotHash   string // as the text manifest has it
	TextManifestSHA256 string
	Path               string // where the pack will stand: the physical parent and the name
	Weights, Processor gturbo.FileRecord
	Regions            []PackRegion
}

// PackPath returns where readers look for the image pack of the text model at dir: <stem>.vision.gturbo beside
// <stem>.gturbo. A name of another form wraps ErrOptions.
func PackPath(dir string) (string, error) {
	stem, ok := strings.CutSuffix(filepath.Base(filepath.Clean(dir)), ".gturbo")
	if !ok || stem == "" {
		return "", fmt.Errorf("%w: %s is not named <stem>.gturbo, which the image pack's name is made from", ErrOptions, dir)
	}
	return filepath.Join(filepath.Dir(filepath.Clean(dir)), stem+".vision.gturbo"), nil
}

// InstallPack adds the image pack to a text install from the same checkpoint. It behaves as [Install] in every other
// respect. The text install itself is only read.
func InstallPack(ctx context.Context, o PackOptions) (*Result, error) {
	return installPack(ctx, o, false)
}

// ResumePack continues an unfinished [InstallPack].
func ResumePack(ctx context.Context, o PackOptions) (*Result, error) {
	return installPack(ctx, o, true)
}

func installPack(ctx context.Context, o PackOptions, resume bool) (*Result, error) {
	if o.TextModel == "" || o.Seal == nil {
		return nil, fmt.Errorf("%w: an image pack needs a text model and a way to seal it", ErrOptions)
	}
	if o.Output == "" {
		var err error
		if o.Output, err = PackPath(o.TextModel); err != nil {
			return nil, err
		}
	}
	opts, err := o.Options.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := resolvePaths(opts.FS, opts.Output, true)
	if err != nil {
		return nil, err
	}
	text, err := readTextModel(opts.FS, o.TextModel)
	if err != nil {
		return nil, err
	}
	run := &run{opts: opts, paths: p, resume: resume, what: "image pack install"}
	return run.do(ctx, func(snap *Snapshot) (*Artifact, error) {
		return packArtifact(snap, text, p.final, opts.Chunk, o.Seal)
	})
}

// textModel is what a pack is bound to.
type textModel struct {
	snapshotHash, manifestSHA256 string
}

func readTextModel(fsys FS, dir string) (textModel, error) {
	raw, err := readSmall(fsys, filepath.Join(dir, manifestName), gturbo.MaxManifestSize)
	if errors.Is(err, fs.ErrNotExist) {
		return textModel{}, fmt.Errorf("%s: %w", dir, gturbo.ErrPartial)
	}
	if err != nil {
		return textModel{}, err
	}
	m, err := gturbo.DecodeManifest(raw)
	if err != nil {
		return textModel{}, fmt.Errorf("%s: %w", dir, err)
	}
	if m.SourceSnapshotHash == "" {
		return textModel{}, fmt.Errorf("%w: the manifest of %s does not say which checkpoint it was made from",
			ErrStateIncompatible, dir)
	}
	return textModel{snapshotHash: m.SourceSnapshotHash, manifestSHA256: gturbo.SHA256(raw)}, nil
}

func packArtifact(
	snap *Snapshot, text textModel, path string, chunk int64, seal func(PackFacts) (manifest, receipt []byte, err error),
) (*Artifact, error) {
	if text.snapshotHash != snapshotHash(snap) {
		return nil, fmt.Errorf("%w: the text model was made from %s, the source is %s",
			ErrStateIncompatible, text.snapshotHash, snapshotHash(snap))
	}
	plan, regions, err := visionPlan(snap, text.manifestSHA256, chunk)
	if err != nil {
		return nil, err
	}
	return &Artifact{
		Plan: plan,
		Side: []SideFile{{Name: packProcessor, Path: packProcessor, Cap: processorCap}},
		Seal: func(files map[string]gturbo.FileRecord) ([]byte, []byte, error) {
			return seal(PackFacts{
				ModelID: modelID(snap), Revision: revision(snap), SourceIndexSHA256: snap.IndexSHA256,
				TextSnapshotHash: text.snapshotHash, TextManifestSHA256: text.manifestSHA256, Path: path,
				Weights: files[packWeights], Processor: files[packProcessor], Regions: regions,
			})
		},
	}, nil
}

// RemovePack deletes an installed image pack, an unfinished one and what belongs to both. It refuses a directory that
// holds a text model. A pack in use is ErrBusy; nothing to remove wraps ErrStateMissing.
func RemovePack(output string) error { return removePack(HostFS(), output) }

func removePack(fsys FS, output string) error {
	p, err := resolvePaths(fsys, output, false)
	if err != nil {
		return err
	}
	release, err := p.takeLock(fsys, "removal")
	if err != nil {
		return err
	}
	defer release()
	inUse, err := fsys.Lock(p.use, lockNote("removal"))
	if err != nil {
		return err
	}
	defer inUse.Close()
	there := false
	for _, dir := range []string{p.final, p.partial, p.replaced} {
		found, err := present(fsys, dir, true)
		if err != nil {
			return err
		}
		there = there || found
		if text, err := present(fsys, filepath.Join(dir, gturbo.WeightsFile), false); err != nil || text {
			return fmt.Errorf("%w: %s holds a text model, no image pack", ErrUnsafePath, dir)
		}
	}
	checkpoint, err := present(fsys, p.checkpoint, false)
	if err != nil {
		return err
	}
	if !there && !checkpoint {
		return fmt.Errorf("%w: no image pack at %s", ErrStateMissing, p.final)
	}
	if err := removeTree(fsys, p.final); err != nil {
		return err
	}
	if err := removeTree(fsys, p.ranges); err != nil {
		return err
	}
	return p.sweep(fsys)
}
