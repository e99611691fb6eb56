package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/fieldfare/fieldfare/gturbo"
)

// copySideFiles brings the small files, before the large ones: a checkpoint without a tokenizer should be refused in
// the first minute. Files that an earlier run has brought and that are still whole stay.
func (e *engine) copySideFiles(ctx context.Context) error {
	if e.saved.SideFiles == nil {
		e.saved.SideFiles = map[string]gturbo.FileRecord{}
	}
	tile := tiles.Get().(*[tileBytes]byte)
	defer tiles.Put(tile)
	for i := range e.art.Side {
		side := &e.art.Side[i]
		if err := e.copySideFile(ctx, side, tile[:]); err != nil {
			return fmt.Errorf("copy %s: %w", side.Name, err)
		}
	}
	return nil
}

func (e *engine) copySideFile(ctx context.Context, side *SideFile, buf []byte) error {
	if record, ok := e.saved.SideFiles[side.Path]; ok {
		if found, err := e.hashFile(ctx, e.path(side.Path)); err == nil && found.Equal(record) {
			return nil
		}
		delete(e.saved.SideFiles, side.Path)
	}
	size, err := e.src.Size(ctx, side.Name)
	if side.Optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if size > side.Cap {
		return tooLarge(side.Name, size, side.Cap)
	}
	e.meter.phase(PhaseSideFiles, side.Path, size, 0)
	record, err := e.fetchSideFile(ctx, side, size, buf)
	if err != nil {
		return err
	}
	e.saved.SideFiles[side.Path] = record
	return e.save()
}

// fetchSideFile streams a file to its place and makes it durable.
func (e *engine) fetchSideFile(ctx context.Context, side *SideFile, size int64, buf []byte) (gturbo.FileRecord, error) {
	none := gturbo.FileRecord{}
	name := e.path(side.Path)
	if err := removeTree(e.fs, name); err != nil {
		return none, err
	}
	f, err := e.fs.Create(name, 0o644)
	if err != nil {
		return none, err
	}
	sum := sha256.New()
	err = func() error {
		if size == 0 {
			return f.Sync()
		}
		body, err := e.src.Open(ctx, side.Name, 0, size)
		if err != nil {
			return err
		}
		defer body.Close()
		for at := int64(0); at < size; {
			tile := buf[:min(int64(len(buf)), size-at)]
			if _, err := io.ReadFull(body, tile); err != nil {
				return err
			}
			if _, err := f.WriteAt(tile, at); err != nil {
				return err
			}
			sum.Write(tile)
			at += int64(len(tile))
			e.meter.add(int64(len(tile)))
		}
		return f.Sync()
	}()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return none, err
	}
	if err := e.fs.SyncDir(filepath.Dir(name)); err != nil {
		return none, err
	}
	return gturbo.FileRecord{Size: uint64(size), SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// hashFile returns the record of a file as it is on disk.
func (e *engine) hashFile(ctx context.Context, name string) (gturbo.FileRecord, error) {
	f, err := e.fs.Open(name)
	if err != nil {
		return gturbo.FileRecord{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return gturbo.FileRecord{}, err
	}
	sum, err := gturbo.SHA256At(ctx, f, size, nil)
	return gturbo.FileRecord{Size: uint64(size), SHA256: sum}, err
}
