package install

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"sort"
)

// blockBytes bounds a block: damage is named, and fetched again, in units of at most this.
const blockBytes = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// block is a contiguous stretch of an output with a checksum of its own. CRC-32C serves to follow bytes from arrival
// over the disk to the final hash, and later to point at damage; whether a file is whole is told by its SHA-256 only.
type block struct {
	to   int64
	size int64
	crc  uint32
	kept bool // crc holds the checksum of the bytes that ought to be there
}

// blockMap tiles every output of a plan: the head, each kept piece cut at blockBytes, and the zeros in between.
// Distinct blocks may be worked on at the same time.
type blockMap [][]block

// newBlockMap tiles the outputs of p. Heads and zeros have their checksums already.
func newBlockMap(p *Plan) blockMap {
	parts := make([][]Part, len(p.Files))
	for i := range p.Ranges {
		for _, part := range p.Ranges[i].Parts {
			parts[part.File] = append(parts[part.File], part)
		}
	}
	m := make(blockMap, len(p.Files))
	for i := range p.Files {
		m[i] = tile(&p.Files[i], parts[i])
	}
	return m
}

func tile(f *Output, parts []Part) []block {
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.To, b.To) })
	var blocks []block
	at := int64(0)
	fill := func(end int64, known []byte) {
		for at < end {
			n := min(end-at, blockBytes)
			crc := uint32(0)
			if known != nil {
				crc = crc32.Checksum(known[at:at+n], castagnoli)
			} else {
				crc = zeroChecksum(n)
			}
			blocks = append(blocks, block{to: at, size: n, crc: crc, kept: true})
			at += n
		}
	}
	fill(int64(len(f.Head)), f.Head)
	for _, part := range parts {
		fill(part.To, nil)
		for end := part.To + part.Size; at < end; {
			n := min(end-at, blockBytes)
			blocks = append(blocks, block{to: at, size: n})
			at += n
		}
	}
	fill(f.Size, nil)
	return blocks
}

var zeros [4096]byte

func zeroChecksum(n int64) uint32 {
	crc := uint32(0)
	for n > 0 {
		k := min(n, int64(len(zeros)))
		crc = crc32.Update(crc, castagnoli, zeros[:k])
		n -= k
	}
	return crc
}

// cursor takes the bytes of one output in order, from a block's start on, and tells the checksum of every block that
// they complete.
type cursor struct {
	blocks []block // what is still to come, beginning with the block that is being read
	done   int64   // bytes of blocks[0] already seen
	crc    uint32
}

// at returns a cursor that begins at byte to of the file, which must be the start of a block.
func (m blockMap) at(file int, to int64) cursor {
	blocks := m[file]
	// Blocks are looked at in place: a copy would read the checksum that another worker is about to record.
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].to >= to })
	if i == len(blocks) || blocks[i].to != to {
		panic(fmt.Sprintf("BUG: no block of file %d starts at byte %d", file, to))
	}
	return cursor{blocks: blocks[i:]}
}

// take feeds data; complete is called for each block that ends inside it.
func (c *cursor) take(data []byte, complete func(b *block, crc uint32)) {
	for len(data) > 0 {
		b := &c.blocks[0]
		n := min(int64(len(data)), b.size-c.done)
		c.crc = crc32.Update(c.crc, castagnoli, data[:n])
		c.done += n
		data = data[n:]
		if c.done == b.size {
			complete(b, c.crc)
			*c = cursor{blocks: c.blocks[1:]}
		}
	}
}

// keep is a completion that records the checksum as the one to expect from now on.
func keep(b *block, crc uint32) { b.crc, b.kept = crc, true }
