package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"

	"github.com/fieldfare/fieldfare/gturbo"
)

// hashOutputs hashes the outputs that were complete before this run copied anything, and returns the records of all.
func (e *engine) hashOutputs(ctx context.Context) (map[string]gturbo.FileRecord, error) {
	var left []int
	var total int64
	for i, sum := range e.sums {
		if sum == "" {
			left = append(left, i)
			total += e.art.Plan.Files[i].Size
		}
	}
	e.meter.phase(PhaseHash, "", total, 0)
	err := e.each(ctx, len(left), func(ctx context.Context, i int, buf []byte) error {
		return e.hashOutput(ctx, left[i], buf, e.meter.add)
	})
	if err != nil {
		return nil, err
	}
	records := map[string]gturbo.FileRecord{}
	for i := range e.art.Plan.Files {
		out := &e.art.Plan.Files[i]
		records[out.Path] = gturbo.FileRecord{Size: uint64(out.Size), SHA256: e.sums[i]}
	}
	return records, nil
}

// hashOutput reads an output once. The hash for the manifest and the comparison with what arrived from the source are
// taken from the same bytes, so nothing that went wrong on this disk in between can be sealed as good.
func (e *engine) hashOutput(ctx context.Context, file int, buf []byte, progress func(int64)) error {
	sum := sha256.New()
	c := e.blocks.at(file, 0)
	var refused error
	out := &e.art.Plan.Files[file]
	for at := int64(0); at < out.Size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		tile := buf[:min(int64(len(buf)), out.Size-at)]
		if err := readExactly(e.files[file], tile, at); err != nil {
			return fmt.Errorf("hash %s: %w", out.Path, err)
		}
		sum.Write(tile)
		c.take(tile, func(b *block, crc uint32) {
			if err := expect(b, crc); err != nil && refused == nil {
				refused = fmt.Errorf("hash %s: %w", out.Path, err)
			}
		})
		at += int64(len(tile))
		progress(int64(len(tile)))
	}
	e.sums[file] = hex.EncodeToString(sum.Sum(nil))
	return refused
}

// seal writes the documents, the manifest and the receipt, each durably, then the checksums beside the install, and
// notes in the checkpoint that only the rename is left.
func (e *engine) seal(files map[string]gturbo.FileRecord) error {
	e.meter.phase(PhaseFinish, "", 0, 0)
	maps.Copy(files, e.saved.SideFiles)
	for _, doc := range e.art.Documents {
		data, err := doc.Encode()
		if err != nil {
			return err
		}
		if err := writeDurably(e.fs, e.path(doc.Path), data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", doc.Path, err)
		}
		files[doc.Path] = gturbo.FileRecord{Size: uint64(len(data)), SHA256: gturbo.SHA256(data)}
	}
	manifest, receipt, err := e.art.Seal(files)
	if err != nil {
		return err
	}
	if err := writeDurably(e.fs, e.path(manifestName), manifest, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", manifestName, err)
	}
	if err := writeDurably(e.fs, e.path(receiptName), receipt, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", receiptName, err)
	}
	if err := e.dropStrays(); err != nil { // the image pack's readers refuse a fifth name
		return err
	}
	if err := e.syncDirs(); err != nil {
		return err
	}
	sealed := gturbo.SHA256(manifest)
	ranges := encodeChecksums(sealed, e.art.Plan, e.blocks)
	if err := writeDurably(e.fs, e.paths.ranges, ranges, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", e.paths.ranges, err)
	}
	e.saved.SealedManifest = sealed
	return e.save()
}

// promote moves the sealed directory to its final name: a rename, or where an old install stands there an exchange in
// one step. At every moment the final name holds a complete install or, where the file system cannot exchange,
// nothing. What is left over is deleted only after the rename is durable.
func (p *paths) promote(fsys FS) error {
	old, err := present(fsys, p.final, true)
	if err != nil {
		return err
	}
	if old {
		err = fsys.Exchange(p.partial, p.final)
		if errors.Is(err, errors.ErrUnsupported) {
			err = p.replaceInTwoSteps(fsys)
		}
	} else {
		err = fsys.Rename(p.partial, p.final)
	}
	if err != nil {
		return fmt.Errorf("move the finished install into place: %w", err)
	}
	if err := fsys.SyncDir(p.parent); err != nil {
		return err
	}
	return p.sweep(fsys)
}

func (p *paths) replaceInTwoSteps(fsys FS) error {
	if err := removeTree(fsys, p.replaced); err != nil {
		return err
	}
	if err := fsys.Rename(p.final, p.replaced); err != nil {
		return err
	}
	return fsys.Rename(p.partial, p.final)
}

// sweep deletes what a finished install leaves behind, the checkpoint last: until it is gone, a later run knows that
// there is something to sweep.
func (p *paths) sweep(fsys FS) error {
	for _, dir := range []string{p.partial, p.replaced} {
		if err := removeTree(fsys, dir); err != nil {
			return fmt.Errorf("delete %s: %w", dir, err)
		}
	}
	if err := fsys.Remove(p.checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.SyncDir(p.parent)
}

// dropStrays deletes everything from the partial directory that the finished artifact does not have: temporaries of a
// killed run, and whatever else has found its way there.
func (e *engine) dropStrays() error {
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		if depth > maxDepth {
			return fmt.Errorf("%w: %s is nested deeper than %d", ErrStateCorrupt, dir, maxDepth)
		}
		names, err := e.fs.ReadDir(e.path(dir), maxEntries)
		if err != nil {
			return err
		}
		for _, name := range names {
			path := filepath.ToSlash(filepath.Join(dir, name))
			info, err := e.fs.Lstat(e.path(path))
			if err != nil {
				return err
			}
			switch {
			case !e.art.owns(path):
				err = removeTree(e.fs, e.path(path))
			case info.IsDir():
				err = walk(path, depth+1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return walk(".", 0)
}
