package install

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// DefaultChunk is the default and largest size of one range, in bytes.
	DefaultChunk = 64 << 20
	// tileBytes bounds every buffer of payload bytes, one per worker.
	tileBytes = 512 << 10
)

// Plan lists which source bytes go where. It is pure data: the same snapshot gives the same plan on every machine,
// and its fingerprint tells a resumed install that it continues the same work.
type Plan struct {
	Files  []Output // sorted by path
	Ranges []Range  // in download order
	Chunk  int64    // bound of a range's size

	// What the fingerprint covers beside the ranges; see [Plan.Fingerprint].
	domain, layout, layoutOrder, indexSHA256 string
}

// Output is one file whose payload comes from ranges. Head holds the bytes at its start that come from the plan
// itself; bytes that neither Head nor a range covers are zero.
type Output struct {
	Path string // relative to the install, with slashes
	Size int64
	Head []byte
}

// Range is one contiguous read of a shard and the pieces of it that are kept. Bytes between pieces are read and
// dropped.
type Range struct {
	ID     string
	Shard  string
	Offset int64
	Size   int64
	Parts  []Part // by destination path, then destination offset
}

// Part is one contiguous piece of a range: Size bytes at From, counted from the start of the range, belong at To in
// file number File of the plan.
type Part struct {
	File int
	To   int64
	From int64
	Size int64
}

// kept returns the number of bytes that the range writes.
func (r *Range) kept() int64 {
	var n int64
	for _, p := range r.Parts {
		n += p.Size
	}
	return n
}

// SourceBytes returns how many bytes the plan reads, the gaps between pieces included.
func (p *Plan) SourceBytes() int64 {
	var n int64
	for i := range p.Ranges {
		n += p.Ranges[i].Size
	}
	return n
}

// OutputBytes returns the total size of the plan's files.
func (p *Plan) OutputBytes() int64 {
	var n int64
	for i := range p.Files {
		n += p.Files[i].Size
	}
	return n
}

// copyOf is one contiguous copy before it is cut and merged into ranges.
type copyOf struct {
	shard string
	from  int64 // absolute in the shard
	file  int
	to    int64
	size  int64
}

// buildPlan cuts copies into pieces of at most chunk bytes and merges neighbours of one shard into ranges of at most
// chunk bytes. files must be sorted by path. Errors wrap ErrPlan.
func buildPlan(files []Output, copies []copyOf, chunk int64) (*Plan, error) {
	if chunk <= 0 || chunk > DefaultChunk {
		return nil, fmt.Errorf("%w: chunk of %d bytes, expected 1 to %d", ErrPlan, chunk, DefaultChunk)
	}
	if err := checkDestinations(files, copies); err != nil {
		return nil, err
	}
	pieces := cut(copies, chunk)
	slices.SortStableFunc(pieces, func(a, b copyOf) int {
		return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.from, b.from))
	})
	plan := &Plan{Files: files, Chunk: chunk}
	for start := 0; start < len(pieces); {
		end, n := grow(pieces, start, chunk)
		id := fmt.Sprintf("range-%08d", len(plan.Ranges))
		plan.Ranges = append(plan.Ranges, newRange(id, pieces[start:start+n], end))
		start += n
	}
	return plan, nil
}

// checkDestinations refuses copies that leave their file, overlap each other or meet the file's head.
func checkDestinations(files []Output, copies []copyOf) error {
	byDestination := slices.Clone(copies)
	slices.SortFunc(byDestination, func(a, b copyOf) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.to, b.to), cmp.Compare(a.size, b.size))
	})
	file, free := -1, int64(0)
	for _, c := range byDestination {
		if c.file != file {
			file, free = c.file, int64(len(files[c.file].Head))
		}
		f := &files[c.file]
		switch {
		case c.size < 0 || c.from < 0 || c.from > 1<<62 || c.size > f.Size || c.to > f.Size-c.size:
			return fmt.Errorf("%w: %s: %d bytes at %d in a file of %d", ErrPlan, f.Path, c.size, c.to, f.Size)
		case c.to < free:
			return fmt.Errorf("%w: %s: two writers of byte %d", ErrPlan, f.Path, c.to)
		}
		free = c.to + c.size
	}
	return nil
}

func cut(copies []copyOf, chunk int64) []copyOf {
	pieces := make([]copyOf, 0, len(copies))
	for _, c := range copies {
		for c.size > 0 {
			piece := c
			piece.size = min(c.size, chunk)
			pieces = append(pieces, piece)
			c.from += piece.size
			c.to += piece.size
			c.size -= piece.size
		}
	}
	return pieces
}

// grow returns the end offset of the range that begins with pieces[start], and how many pieces join it.
func grow(pieces []copyOf, start int, chunk int64) (end int64, n int) {
	first := pieces[start]
	end = first.from + first.size
	for n = 1; start+n < len(pieces); n++ {
		next := pieces[start+n]
		grown := max(end, next.from+next.size)
		if next.shard != first.shard || grown-first.from > chunk {
			break
		}
		end = grown
	}
	return end, n
}

func newRange(id string, pieces []copyOf, end int64) Range {
	r := Range{ID: id, Shard: pieces[0].shard, Offset: pieces[0].from, Size: end - pieces[0].from}
	r.Parts = make([]Part, len(pieces))
	for i, c := range pieces {
		r.Parts[i] = Part{File: c.file, To: c.to, From: c.from - r.Offset, Size: c.size}
	}
	slices.SortFunc(r.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From))
	})
	return r
}
