package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// mend writes every damaged stretch again.
func (r *repair) mend(ctx context.Context) error {
	var total int64
	for _, d := range r.report.Damages {
		total += d.Hi - d.Lo
	}
	r.meter.phase(PhaseRepair, "", total, 0)
	for _, d := range r.report.Damages {
		if err := r.mendOne(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.File, err)
		}
	}
	return nil
}

func (r *repair) mendOne(ctx context.Context, d gturbo.Damage) error {
	for i := range r.art.Plan.Files {
		if r.art.Plan.Files[i].Path == d.File {
			return r.mendOutput(ctx, i, d)
		}
	}
	for _, doc := range r.art.Documents {
		if doc.Path == d.File {
			data, err := doc.Encode()
			if err != nil {
				return err
			}
			r.report.Rebuilt = append(r.report.Rebuilt, d.File)
			return r.replace(d, data)
		}
	}
	for i := range r.art.Side {
		side := &r.art.Side[i]
		if side.Path != d.File {
			continue
		}
		data, err := readFile(ctx, r.src, side.Name, side.Cap)
		if err != nil {
			return err
		}
		r.report.FetchedBytes += int64(len(data))
		return r.replace(d, data)
	}
	return fmt.Errorf("%w, and the source does not have it", ErrDamaged)
}

// replace writes a small file whole, if it is the one that the manifest promises.
func (r *repair) replace(d gturbo.Damage, data []byte) error {
	if found := (gturbo.FileRecord{Size: uint64(len(data)), SHA256: gturbo.SHA256(data)}); !found.Equal(d.Want) {
		return fmt.Errorf("%w, and the source has other bytes: %d with SHA-256 %s", ErrDamaged, found.Size, found.SHA256)
	}
	name := r.path(d.File)
	if err := r.makeWay(name); err != nil {
		return err
	}
	return writeDurably(r.fs, name, data, 0o644)
}

// makeWay creates the directory of a file, and removes what is no regular file from its name.
func (r *repair) makeWay(name string) error {
	dir := filepath.Dir(name)
	there, err := present(r.fs, dir, true)
	if err != nil {
		return err
	}
	if !there {
		if err := r.fs.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if _, err := present(r.fs, name, false); errors.Is(err, ErrUnsafePath) {
		return r.fs.Remove(name)
	}
	return nil
}

// mendOutput writes the bytes [d.Lo, d.Hi) of an output again. A file that is missing or of another size is made
// anew at full size first, and then all of it is damaged.
func (r *repair) mendOutput(ctx context.Context, file int, d gturbo.Damage) error {
	out := &r.art.Plan.Files[file]
	if uint64(out.Size) != d.Want.Size {
		return fmt.Errorf("%w: by the source it has %d bytes, by the manifest %d", ErrDamaged, out.Size, d.Want.Size)
	}
	name := r.path(d.File)
	if err := r.makeWay(name); err != nil {
		return err
	}
	f, err := r.fs.OpenWrite(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = r.fs.Create(name, 0o644)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lo, hi := d.Lo, d.Hi
	if !errors.Is(d.Kind, gturbo.ErrChecksum) {
		lo, hi = 0, out.Size
		if err := f.Truncate(out.Size); err != nil {
			return err
		}
	}
	if err := r.rewrite(ctx, f, file, lo, hi); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return r.fs.SyncDir(filepath.Dir(name))
}

// rewrite fills [lo, hi) of an output: head and zeros from the plan, everything else from the source.
func (r *repair) rewrite(ctx context.Context, f File, file int, lo, hi int64) error {
	if err := r.rewriteKnown(f, file, lo, hi); err != nil {
		return err
	}
	for _, piece := range r.pieces(file, lo, hi) {
		if err := r.fetch(ctx, f, piece); err != nil {
			return err
		}
	}
	return nil
}

// rewriteKnown writes the head and zeros over [lo, hi); pieces from the source come after it.
func (r *repair) rewriteKnown(f File, file int, lo, hi int64) error {
	buf := make([]byte, tileBytes)
	for at := lo; at < hi; {
		tile := buf[:min(int64(len(buf)), hi-at)]
		clear(tile)
		if head := r.art.Plan.Files[file].Head; at < int64(len(head)) {
			copy(tile, head[at:])
		}
		if _, err := f.WriteAt(tile, at); err != nil {
			return err
		}
		at += int64(len(tile))
	}
	return nil
}

// pieces cuts what the plan copies into [lo, hi) of an output and joins what lies together at both ends.
func (r *repair) pieces(file int, lo, hi int64) []copyOf {
	var pieces []copyOf
	for i := range r.art.Plan.Ranges {
		rng := &r.art.Plan.Ranges[i]
		for _, p := range rng.Parts {
			from, to := max(lo, p.To), min(hi, p.To+p.Size)
			if p.File == file && from < to {
				pieces = append(pieces, copyOf{
					shard: rng.Shard, from: rng.Offset + p.From + from - p.To, file: file, to: from, size: to - from,
				})
			}
		}
	}
	slices.SortFunc(pieces, func(a, b copyOf) int { return cmp.Compare(a.to, b.to) })
	joined := pieces[:0]
	for _, p := range pieces {
		if n := len(joined); n > 0 {
			last := &joined[n-1]
			if last.shard == p.shard && last.from+last.size == p.from && last.to+last.size == p.to {
				last.size += p.size
				continue
			}
		}
		joined = append(joined, p)
	}
	return joined
}

func (r *repair) fetch(ctx context.Context, f File, piece copyOf) error {
	body, err := r.src.Open(ctx, piece.shard, piece.from, piece.size)
	if err != nil {
		return err
	}
	defer body.Close()
	buf := make([]byte, min(tileBytes, piece.size))
	for at := int64(0); at < piece.size; {
		tile := buf[:min(int64(len(buf)), piece.size-at)]
		if _, err := io.ReadFull(body, tile); err != nil {
			return err
		}
		if _, err := f.WriteAt(tile, piece.to+at); err != nil {
			return err
		}
		at += int64(len(tile))
		r.report.FetchedBytes += int64(len(tile))
		r.meter.add(int64(len(tile)))
	}
	return nil
}
