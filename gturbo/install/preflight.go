package install

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// Estimate says what an install will take. Nothing has been created to find out.
type Estimate struct {
	ModelID       string
	DownloadBytes int64  // read from the source
	OutputBytes   int64  // payload on disk
	NeedBytes     int64  // room that the disk must have, the reserve and small files included
	FreeBytes     int64  // room that it has
	Dir           string // the nearest directory above the output that exists: where the room was measured
}

// Fits reports whether the disk has the room.
func (e *Estimate) Fits() bool { return e.FreeBytes >= e.NeedBytes }

// Preflight reads the small files of the source and the state of the disk, and works out what a fresh install would
// take. It creates nothing; the install itself measures again before it writes.
func Preflight(ctx context.Context, o Options) (*Estimate, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	snap, err := LoadSnapshot(ctx, o.Source, "")
	if err != nil {
		return nil, err
	}
	art, err := TextArtifact(snap, o.Chunk, Receipt{})
	if err != nil {
		return nil, err
	}
	e := &Estimate{
		ModelID: modelID(snap), DownloadBytes: art.Plan.SourceBytes(), OutputBytes: art.Plan.OutputBytes(),
		NeedBytes: needBytes(art, nil, o.Reserve),
	}
	if e.Dir, err = nearestDir(o.FS, o.Output); err != nil {
		return nil, err
	}
	e.FreeBytes, err = o.FS.Free(e.Dir)
	return e, err
}

// nearestDir returns the closest existing directory above an output.
func nearestDir(fsys FS, output string) (string, error) {
	dir, err := filepath.Abs(output)
	if err != nil {
		return "", err
	}
	for {
		parent := filepath.Dir(dir)
		physical, err := fsys.Physical(parent)
		if err == nil {
			return physical, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", err
		}
		dir = parent
	}
}
