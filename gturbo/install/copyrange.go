package install

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
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

// scatter writes the bytes of a range, as they come in source order, to where they belong.
type scatter struct {
	e       *engine
	parts   []Part   // by source offset
	cursors []cursor // of parts
	at      int64    // bytes of the range already seen
}

func newScatter(e *engine, r *Range) *scatter {
	s := &scatter{e: e, parts: slices.Clone(r.Parts)}
	slices.SortFunc(s.parts, func(a, b Part) int { return cmp.Compare(a.From, b.From) })
	s.cursors = make([]cursor, len(s.parts))
	for i, p := range s.parts {
		s.cursors[i] = e.blocks.at(p.File, p.To)
	}
	return s
}

func (s *scatter) write(data []byte) error {
	end := s.at + int64(len(data))
	for i := range s.parts {
		p := &s.parts[i]
		if p.From >= end {
			break
		}
		lo, hi := max(s.at, p.From), min(end, p.From+p.Size)
		if lo >= hi {
			continue
		}
		piece := data[lo-s.at : hi-s.at]
		if _, err := s.e.files[p.File].WriteAt(piece, p.To+lo-p.From); err != nil {
			return fmt.Errorf("write %d bytes to %s: %w", len(piece), s.e.art.Plan.Files[p.File].Path, err)
		}
		s.cursors[i].take(piece, keep)
	}
	s.at = end
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

// revalidate digests every range that the checkpoint lists and forgets those that do not match. A range that the plan
// does not know, or knows with other sizes, wraps ErrStateCorrupt.
func (e *engine) revalidate(ctx context.Context) error {
	byID := map[string]*Range{}
	for i := range e.art.Plan.Ranges {
		byID[e.art.Plan.Ranges[i].ID] = &e.art.Plan.Ranges[i]
	}
	var total int64
	for _, c := range e.saved.Completed {
		r := byID[c.ID]
		if r == nil || r.Size != c.SourceBytes || r.kept() != c.DestinationBytes {
			return fmt.Errorf("%w: checkpoint lists %s with %d source bytes, the plan does not", ErrStateCorrupt, c.ID, c.SourceBytes)
		}
		total += c.DestinationBytes
	}
	e.meter.phase(PhaseCheck, "", total, 0)
	whole := make([]bool, len(e.saved.Completed))
	err := e.each(ctx, len(whole), func(ctx context.Context, i int, buf []byte) error {
		c := e.saved.Completed[i]
		digest, err := e.digest(ctx, byID[c.ID], buf, func(b *block, crc uint32) error {
			keep(b, crc)
			return nil
		})
		whole[i] = digest == c.Digest
		e.meter.add(c.DestinationBytes)
		return err
	})
	if err != nil {
		return err
	}
	var kept []completedRange
	for i, c := range e.saved.Completed {
		if whole[i] {
			kept = append(kept, c)
		}
	}
	e.saved.Completed = kept
	return nil
}
