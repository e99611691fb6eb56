package install

import (
	"context"
	"fmt"
)

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
