package install

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
)

// copyRanges fetches every range that the checkpoint does not list.
func (e *engine) copyRanges(ctx context.Context) error {
	done := map[string]bool{}
	var reused int64
	for _, c := range e.saved.Completed {
		done[c.ID] = true
		reused += c.SourceBytes
	}
	var missing []*Range
	for i := range e.art.Plan.Ranges {
		if r := &e.art.Plan.Ranges[i]; !done[r.ID] {
			missing = append(missing, r)
		}
	}
	e.sums = make([]string, len(e.files))
	e.waiting = make([]int, len(e.files))
	for _, r := range missing {
		for _, file := range r.touched() {
			e.waiting[file]++
		}
	}
	e.meter.phase(PhaseCopy, "", e.saved.TotalSourceBytes, reused)
	return e.each(ctx, len(missing), func(ctx context.Context, i int, buf []byte) error {
		if err := e.copyRange(ctx, missing[i], buf); err != nil {
			return fmt.Errorf("%s of %s: %w", missing[i].ID, missing[i].Shard, err)
		}
		return e.hashCompleted(ctx, missing[i], buf)
	})
}

// touched lists the outputs that the range writes to, ascending.
func (r *Range) touched() []int {
	var files []int
	for _, p := range r.Parts { // sorted by file
		if n := len(files); n == 0 || files[n-1] != p.File {
			files = append(files, p.File)
		}
	}
	return files
}

// hashCompleted hashes the outputs for which r was the last range to come. The disk and the network go on meanwhile:
// only this worker is busy.
func (e *engine) hashCompleted(ctx context.Context, r *Range, buf []byte) error {
	for _, file := range r.touched() {
		e.mu.Lock()
		e.waiting[file]--
		complete := e.waiting[file] == 0
		e.mu.Unlock()
		if !complete {
			continue
		}
		if err := e.hashOutput(ctx, file, buf, func(int64) {}); err != nil {
			return err
		}
	}
	return nil
}

// copyRange brings one range to disk. Its order is the promise of the whole installer: the bytes are written, then
// made durable, then read back and digested, and only then counted.
func (e *engine) copyRange(ctx context.Context, r *Range, buf []byte) error {
	if err := e.fetch(ctx, r, buf); err != nil {
		return err
	}
	if err := e.syncTouched(r); err != nil {
		return err
	}
	digest, err := e.digest(ctx, r, buf, expect)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.saved.Completed = append(e.saved.Completed,
		completedRange{ID: r.ID, Digest: digest, SourceBytes: r.Size, DestinationBytes: r.kept()})
	return e.save()
}

// fetch streams a range from the source to its destinations.
func (e *engine) fetch(ctx context.Context, r *Range, buf []byte) error {
	body, err := e.src.Open(ctx, r.Shard, r.Offset, r.Size)
	if err != nil {
		return err
	}
	defer body.Close()
	s := newScatter(e, r)
	for s.at < r.Size {
		tile := buf[:min(int64(len(buf)), r.Size-s.at)]
		if _, err := io.ReadFull(body, tile); err != nil {
			return err
		}
		if err := s.write(tile); err != nil {
			return err
		}
		e.meter.add(int64(len(tile)))
	}
	return nil
}

// syncTouched makes every file durable that the range has written to.
func (e *engine) syncTouched(r *Range) error {
	for _, file := range r.touched() {
		if err := e.files[file].Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", e.art.Plan.Files[file].Path, err)
		}
	}
	return nil
}

// digest reads a range back from its destinations and returns the digest that the checkpoint records. complete sees
// the checksum of every block that was read; what it objects to fails the digest.
func (e *engine) digest(ctx context.Context, r *Range, buf []byte, complete func(*block, uint32) error) (string, error) {
	s := newStream(rangeDigestDomain)
	s.text(r.ID)
	s.number(int64(len(r.Parts)))
	for _, p := range r.Parts {
		s.text(e.art.Plan.Files[p.File].Path)
		s.number(p.To)
		s.number(p.From)
		s.number(p.Size)
		if err := e.readBack(ctx, p, buf, s, complete); err != nil {
			return "", fmt.Errorf("read back %s: %w", e.art.Plan.Files[p.File].Path, err)
		}
	}
	return hex.EncodeToString(s.h.Sum(nil)), nil
}

func (e *engine) readBack(ctx context.Context, p Part, buf []byte, s stream, complete func(*block, uint32) error) error {
	c := e.blocks.at(p.File, p.To)
	var refused error
	for at := int64(0); at < p.Size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		tile := buf[:min(int64(len(buf)), p.Size-at)]
		if err := readExactly(e.files[p.File], tile, p.To+at); err != nil {
			return err
		}
		s.h.Write(tile)
		c.take(tile, func(b *block, crc uint32) {
			if err := complete(b, crc); err != nil && refused == nil {
				refused = err
			}
		})
		at += int64(len(tile))
	}
	return refused
}

// expect objects to a block whose bytes on disk are not those that arrived.
func expect(b *block, crc uint32) error {
	if b.kept && b.crc == crc {
		return nil
	}
	return fmt.Errorf("%w: bytes %d to %d are not the bytes that were written", ErrDamaged, b.to, b.to+b.size)
}
