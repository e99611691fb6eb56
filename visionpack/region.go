package visionpack

import (
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// A Region is one group of tensors, mapped read-only.
type Region struct {
	pages   *pages.Region
	base    uint64
	tensors []Tensor
}

// Groups returns how many groups the tensors are mapped in: the patch embedding first, then each layer, then what
// follows the last layer.
func (p *Pack) Groups() int { return len(p.groups) }

// Sizes returns the bytes of all groups, and those of the two neighbours that take the most together.
func (p *Pack) Sizes() (all, pair int64) {
	first, before := 0, int64(0)
	for _, n := range p.groups {
		tensors := p.manifest.Tensors[first:][:n]
		first += n
		last := &tensors[n-1]
		size := int64(last.Offset + last.Size - tensors[0].Offset)
		all += size
		pair, before = max(pair, before+size), size
	}
	return all, pair
}

// Map maps a group. The system is asked to read it ahead; nothing is copied.
func (p *Pack) Map(group int) (*Region, error) {
	first := 0
	for _, n := range p.groups[:group] {
		first += n
	}
	tensors := p.manifest.Tensors[first:][:p.groups[group]]
	last := &tensors[len(tensors)-1]
	base := tensors[0].Offset
	mapped, err := pages.Map("image tower", p.weights, int64(base), int64(last.Offset+last.Size-base))
	if err != nil {
		return nil, fmt.Errorf("image pack: group %d: %w", group, err)
	}
	if err := mapped.Advise(0, len(mapped.Bytes()), pages.WillNeed); err != nil {
		mapped.Close()
		return nil, fmt.Errorf("image pack: group %d: %w", group, err)
	}
	return &Region{pages: mapped, base: base, tensors: tensors}, nil
}

// Tensor returns the bytes of a tensor of this group: a view of the mapping, valid until Close, never to be written.
// A name of another group is a mistake of the caller.
func (r *Region) Tensor(name string) []byte {
	for i := range r.tensors {
		if t := &r.tensors[i]; t.Name == name {
			lo := t.Offset - r.base
			return r.pages.Bytes()[lo : lo+t.Size : lo+t.Size]
		}
	}
	panic("BUG: visionpack: no tensor " + name + " in this group")
}

// Size returns the bytes mapped.
func (r *Region) Size() int { return len(r.pages.Bytes()) }

// Close unmaps the region, once, when no queued work reads it any more.
func (r *Region) Close() error { return r.pages.Close() }
