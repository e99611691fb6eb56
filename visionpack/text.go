package visionpack

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/fieldfare/fieldfare/gturbo"
)

// TextModel is what a pack is held against.
type TextModel struct {
	Path           string
	SnapshotHash   string // sourceSnapshotHash of its manifest
	ManifestSHA256 string // of its manifest.json as it lies on disk
	// Tower is the image tower of its configuration, nil when it has none.
	Tower *Tower
}

// TextOf describes an open install. Errors wrap ErrTower.
func TextOf(in *gturbo.Install) (*TextModel, error) {
	t := &TextModel{
		Path: in.Path(), SnapshotHash: in.Manifest().SourceSnapshotHash, ManifestSHA256: in.ManifestSHA256(),
	}
	return t, t.setTower(in.Source())
}

// ReadText describes the install at path from its metadata alone. Errors are gturbo's, or wrap ErrTower.
func ReadText(path string) (*TextModel, error) {
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
	t := &TextModel{Path: root.Path(), SnapshotHash: m.SourceSnapshotHash, ManifestSHA256: gturbo.SHA256(data)}
	return t, t.setTower(source)
}

func (t *TextModel) setTower(source *gturbo.SourceConfig) (err error) {
	if source.Vision != nil {
		t.Tower, err = ParseTower(source.Vision.Config, source.Arch.HiddenSize)
	}
	return err
}

// checkText reports whether the pack was made for t. Errors wrap ErrIncompatible.
func (m *Manifest) checkText(t *TextModel) error {
	switch {
	case t.SnapshotHash == "":
		return fmt.Errorf("%s: %w", t.Path, ErrUnbound)
	case t.Tower == nil:
		return fmt.Errorf("%s: %w", t.Path, ErrNoImages)
	case m.TextSnapshotHash != t.SnapshotHash:
		return fmt.Errorf("pack from %s, %s from %s: %w", m.TextSnapshotHash, t.Path, t.SnapshotHash, ErrOtherSource)
	case !gturbo.EqualSHA256(m.TextManifestSHA256, t.ManifestSHA256):
		return fmt.Errorf("pack for manifest %s, %s has %s: %w",
			m.TextManifestSHA256, t.Path, t.ManifestSHA256, ErrOtherManifest)
	}
	return nil
}
