package text

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// A mergeTable says which pairs of neighbours become one token, in which order, and between which characters that
// can happen at all.
type mergeTable struct {
	ranks   pairTable // (left id, right id) -> rank; lower ranks go first
	results []int32   // by rank: the token that the pair becomes

	// Two characters can share a token only if some merge joins a text that ends in the first with a text that
	// begins with the second. Text may be cut between any other two without changing a single id.
	asciiJoins [utf8.RuneSelf][2]uint64 // bit sets by asciiClass
	otherJoins pairTable                // (rune, rune) of which one has no class
}

// noRank is the rank of a pair that does not merge, above all others.
const noRank = ^uint32(0)

func (m *mergeTable) rank(left, right int32) uint32 {
	if r, ok := m.ranks.get(uint32(left), uint32(right)); ok {
		return r
	}
	return noRank
}

// joins says whether any token can hold a and, next to it, b.
func (m *mergeTable) joins(a, b rune) bool {
	ca, cb := asciiClass(a), asciiClass(b)
	if ca < utf8.RuneSelf && cb < utf8.RuneSelf {
		return m.asciiJoins[ca][cb>>6]>>(cb&63)&1 != 0
	}
	_, ok := m.otherJoins.get(uint32(a), uint32(b))
	return ok
}

// asciiClass is the rune itself, except that spaceMark, which stands for the blank that normalized text no longer
// has, takes the blank's place.
func asciiClass(c rune) rune {
	if c == spaceMark {
		return ' '
	}
	return c
}

// readMerges fills t.merges from the array that s holds: pairs of strings, or in older files strings with one
// blank between the halves. As in the reference a pair that comes twice has the later rank.
func (t *Tokenizer) readMerges(s scanner, index *textIndex) error {
	r := mergeReader{tok: t, index: index, scanner: s, otherJoins: make(map[[2]rune]struct{})}
	if err := r.elements(r.read); err != nil {
		return err
	}
	if err := r.end(); err != nil {
		return err
	}
	m := &t.merges
	m.ranks = newPairTable(len(r.pairs))
	m.results = make([]int32, len(r.pairs))
	for rank, p := range r.pairs {
		m.ranks.put(uint32(p.left), uint32(p.right), uint32(rank))
		m.results[rank] = p.result
	}
	m.otherJoins = newPairTable(len(r.otherJoins))
	for p := range r.otherJoins {
		m.otherJoins.put(uint32(p[0]), uint32(p[1]), 0)
	}
	return nil
}

// A merge is one line of the file.
type merge struct{ left, right, result int32 }

type mergeReader struct {
	scanner
	tok        *Tokenizer
	index      *textIndex
	pairs      []merge
	otherJoins map[[2]rune]struct{}
	halves     [2][]byte // of the merge being read, with its text
	joined     []byte
}

// read reads one merge and looks its three texts up.
func (r *mergeReader) read() error {
	if err := r.readHalves(); err != nil {
		return err
	}
	left, right := r.halves[0], r.halves[1]
	r.joined = append(append(r.joined[:0], left...), right...)
	var ids [3]int
	for i, text := range [3][]byte{left, right, r.joined} {
		id, ok := r.index.id(text)
		if !ok {
			return r.errorf("merge %d: %.40q is not in the vocabulary", len(r.pairs), text)
		}
		if r.tok.IsSpecial(int32(id)) || isByteToken(text) {
			// Typed text could become a control token, and bytes are cut off from their neighbours.
			return fmt.Errorf("%w: merge %d has the special or byte token %.40q", ErrTokenizerKind, len(r.pairs), text)
		}
		ids[i] = id
	}
	if len(r.pairs) == maxPairValue {
		return r.errorf("more than %d merges", maxPairValue)
	}
	r.pairs = append(r.pairs, merge{int32(ids[0]), int32(ids[1]), int32(ids[2])})
	r.noteJoin(left, right)
	return nil
}

func (r *mergeReader) noteJoin(left, right []byte) {
	a, _ := utf8.DecodeLastRune(left)
	b, _ := utf8.DecodeRune(right)
	if ca, cb := asciiClass(a), asciiClass(b); ca < utf8.RuneSelf && cb < utf8.RuneSelf {
		r.tok.merges.asciiJoins[ca][cb>>6] |= 1 << (cb & 63)
	} else {
		r.otherJoins[[2]rune{a, b}] = struct{}{}
	}
}

func (r *mergeReader) readHalves() error {
	if r.peek() == '"' {
		return r.readJoinedHalves()
	}
	n := 0
	err := r.elements(func() error {
		text, err := r.str()
		if n < 2 {
			r.halves[n] = text
		}
		n++
		return err
	})
	if err == nil && n != 2 {
		return r.errorf("merge %d has %d parts, expected 2", len(r.pairs), n)
	}
	return err
}

func (r *mergeReader) readJoinedHalves() error {
	line, err := r.str()
	if err != nil {
		return err
	}
	left, right, ok := bytes.Cut(line, []byte{' '})
	if !ok || bytes.IndexByte(right, ' ') >= 0 {
		return r.errorf("merge %d is %.40q, expected two parts with one blank between", len(r.pairs), line)
	}
	r.halves = [2][]byte{left, right}
	return nil
}
