package install

import (
	"cmp"
	"fmt"
	"slices"
)

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
