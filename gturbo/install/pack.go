package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/visionpack"
)

// PackOptions say which image pack to install and for which text model.
type PackOptions struct {
	Options          // Output defaults to visionpack.Path of TextModel
	TextModel string // the text install that the pack is bound to; required
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
	if o.TextModel == "" {
		return nil, fmt.Errorf("%w: an image pack needs a text model", ErrOptions)
	}
	if o.Output == "" {
		var err error
		if o.Output, err = visionpack.Path(o.TextModel); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
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
		return packArtifact(snap, text, p.final, opts.Chunk)
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

// packArtifact plans the pack that will stand at path.
func packArtifact(snap *Snapshot, text textModel, path string, chunk int64) (*Artifact, error) {
	if text.snapshotHash != snapshotHash(snap) {
		return nil, fmt.Errorf("%w: the text model was made from %s, the source is %s",
			ErrStateIncompatible, text.snapshotHash, snapshotHash(snap))
	}
	plan, tensors, err := visionPlan(snap, text.manifestSHA256, chunk)
	if err != nil {
		return nil, err
	}
	if err := fitsTower(snap, tensors); err != nil {
		return nil, err
	}
	manifest := visionpack.Manifest{
		Magic: visionpack.Magic, ArtifactKind: visionpack.Kind,
		VersionMajor: visionpack.VersionMajor, VersionMinor: visionpack.VersionMinor,
		ModelID: modelID(snap), SourceRevision: revision(snap), SourceIndexSHA256: snap.IndexSHA256,
		TextSnapshotHash: text.snapshotHash, TextManifestSHA256: text.manifestSHA256, Tensors: tensors,
	}
	return &Artifact{
		Plan: plan,
		Side: []SideFile{{Name: packProcessor, Path: packProcessor, Cap: visionpack.MaxProcessorSize}},
		Seal: func(files map[string]gturbo.FileRecord) ([]byte, []byte, error) {
			return sealPack(manifest, files, path)
		},
	}, nil
}

// fitsTower refuses, before anything is fetched, tensors that readers of the pack would refuse.
func fitsTower(snap *Snapshot, tensors []visionpack.Tensor) error {
	if snap.Parsed.Vision == nil {
		return fmt.Errorf("%w: the checkpoint's configuration has no image tower", ErrMissingTensor)
	}
	tower, err := visionpack.ParseTower(snap.Parsed.Vision.Config, snap.Parsed.Arch.HiddenSize)
	if err == nil {
		err = tower.Fits(tensors)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTensor, err)
	}
	return nil
}

// sealPack makes the closing documents of the pack m at path from its files' records. Neither holds a time, so a pack
// that is installed again has the same bytes.
func sealPack(m visionpack.Manifest, files map[string]gturbo.FileRecord, path string) (manifest, receipt []byte, err error) {
	m.Files = map[string]gturbo.FileRecord{packWeights: files[packWeights], packProcessor: files[packProcessor]}
	m.ProcessorConfigSHA256 = files[packProcessor].SHA256
	if manifest, err = m.Encode(); err != nil {
		return nil, nil, err
	}
	receipt, err = visionpack.NewReceipt(&m, manifest, path, toolVersion).Encode()
	return manifest, receipt, err
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
