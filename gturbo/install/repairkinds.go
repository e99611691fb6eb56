package install

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/visionpack"
)

// repairTool names a repair in receipts.
const repairTool = "fieldfare repair"

func textKind(p *paths) repairKind {
	return repairKind{
		manifest: func(raw []byte) (*sealed, error) {
			m, err := gturbo.DecodeManifest(raw)
			if err != nil {
				return nil, err
			}
			return &sealed{source: m.SourceSnapshotHash, files: m.Files}, nil
		},
		receipt: func(raw []byte) (*sealed, error) {
			receipt, err := gturbo.DecodeReceipt(raw)
			if err != nil {
				return nil, err
			}
			return &sealed{manifestSHA256: receipt.ManifestSHA256, files: receipt.Files}, nil
		},
		vouch: func(raw []byte) ([]byte, error) {
			m, err := gturbo.DecodeManifest(raw)
			if err != nil {
				return nil, err
			}
			receipt := gturbo.NewReceipt(m, raw, p.requested, repairTool, time.Now())
			receipt.SourceRepoID, receipt.SourceRevision = m.ModelID, m.SourceSnapshotHash
			return receipt.Encode()
		},
		build: func(snap *Snapshot) (*Artifact, error) {
			return TextArtifact(snap, DefaultChunk, Receipt{Path: p.requested, Time: time.Now()})
		},
	}
}

func packKind(p *paths, textModel string) (repairKind, error) {
	text, err := readTextModel(HostFS(), textModel)
	if err != nil {
		return repairKind{}, err
	}
	return repairKind{
		manifest: func(raw []byte) (*sealed, error) {
			m, err := visionpack.DecodeManifest(raw)
			if err != nil {
				return nil, err
			}
			return &sealed{source: m.TextSnapshotHash, files: m.Files}, nil
		},
		receipt: func(raw []byte) (*sealed, error) {
			receipt, err := visionpack.DecodeReceipt(raw)
			if err != nil {
				return nil, err
			}
			return &sealed{manifestSHA256: receipt.ManifestSHA256, files: receipt.Files}, nil
		},
		vouch: func(raw []byte) ([]byte, error) {
			m, err := visionpack.DecodeManifest(raw)
			if err != nil {
				return nil, err
			}
			return visionpack.NewReceipt(m, raw, p.final, repairTool).Encode()
		},
		build: func(snap *Snapshot) (*Artifact, error) { return packArtifact(snap, text, p.final, DefaultChunk) },
	}, nil
}

// checkFile says what is wrong with a file, or nil. The error is the context's, or a failure to look.
func (r *repair) checkFile(ctx context.Context, file string, want gturbo.FileRecord) (*gturbo.Damage, error) {
	d := &gturbo.Damage{File: file, Hi: int64(want.Size), Want: want, GotSize: -1}
	if parent, _, nested := strings.Cut(file, "/"); nested {
		if there, err := present(r.fs, r.path(parent), true); err != nil {
			return nil, err
		} else if !there {
			d.Kind = gturbo.ErrMissingFile
			return d, nil
		}
	}
	f, err := r.fs.Open(r.path(file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Kind, d.Cause = gturbo.ErrMissingFile, err
		return d, nil
	case err != nil:
		d.Kind, d.Cause = gturbo.ErrUnreadable, err
		return d, nil
	}
	defer f.Close()
	if d.GotSize, err = f.Size(); err != nil {
		return nil, err
	}
	if d.GotSize != int64(want.Size) {
		d.Kind, d.Lo, d.Hi = gturbo.ErrSize, min(d.GotSize, d.Hi), max(d.GotSize, d.Hi)
		return d, nil
	}
	d.GotSHA256, err = gturbo.SHA256At(ctx, f, d.GotSize, r.meter.add)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		d.Kind, d.Cause = gturbo.ErrUnreadable, err
		return d, nil
	case gturbo.EqualSHA256(d.GotSHA256, want.SHA256):
		return nil, nil
	}
	d.Kind = gturbo.ErrChecksum
	return d, nil
}

func (r *repair) path(file string) string {
	return filepath.Join(r.paths.final, filepath.FromSlash(file))
}
