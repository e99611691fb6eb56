package text

import (
	"fmt"
	"hash/maphash"
	"unicode/utf8"
)

// maxID bounds ids, and with them what a small file can make us allocate. It must fit half a pair.
const maxID = 1<<pairHalfBits - 1

// A vocabulary holds the text of each id. Ids need not be dense.
type vocabulary struct {
	blob  []byte
	spans []span // by id; an id without a token has an empty span
}

// A span is a range of a vocabulary's blob.
type span struct{ lo, hi uint32 }

func (v *vocabulary) has(id int) bool {
	return id >= 0 && id < len(v.spans) && v.spans[id].lo < v.spans[id].hi
}

// text returns the text of id, empty if id has no token. The result must not be changed.
func (v *vocabulary) text(id int) []byte {
	if !v.has(id) {
		return nil
	}
	return v.blob[v.spans[id].lo:v.spans[id].hi]
}

func (v *vocabulary) set(id int, text []byte) {
	for len(v.spans) <= id {
		v.spans = append(v.spans, span{})
	}
	lo := len(v.blob)
	v.blob = append(v.blob, text...)
	v.spans[id] = span{uint32(lo), uint32(len(v.blob))}
}

// A textIndex finds ids by text while a file is loaded; encoding does without.
type textIndex struct {
	vocab *vocabulary
	seed  maphash.Seed
	slots []textSlot
	used  int
}

type textSlot struct {
	span       // the text in vocab.blob; empty if the slot is
	id   int32 // what the text is encoded as
}

func newTextIndex(v *vocabulary) *textIndex {
	return &textIndex{vocab: v, seed: maphash.MakeSeed(), slots: make([]textSlot, 1024)}
}

// find returns the slot of text, or the empty one where it belongs.
func (x *textIndex) find(text []byte) *textSlot {
	mask := len(x.slots) - 1
	for i := int(maphash.Bytes(x.seed, text)) & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.lo == s.hi || string(x.vocab.blob[s.lo:s.hi]) == string(text) {
			return s
		}
	}
}

func (x *textIndex) id(text []byte) (id int, ok bool) {
	s := x.find(text)
	return int(s.id), s.lo < s.hi
}

// put makes id, whose text the vocabulary knows, the one that this text is encoded as.
func (x *textIndex) put(id int) {
	if x.used*2 >= len(x.slots) {
		x.grow()
	}
	s := x.find(x.vocab.text(id))
	if s.lo == s.hi {
		x.used++
	}
	*s = textSlot{x.vocab.spans[id], int32(id)}
}

func (x *textIndex) grow() {
	old := x.slots
	x.slots = make([]textSlot, 2*len(old))
	for _, s := range old {
		if s.lo < s.hi {
			*x.find(x.vocab.blob[s.lo:s.hi]) = s
		}
	}
}

// readVocab fills t.vocab from the object that s holds. A text that comes twice keeps both ids for decoding, is
// encoded as the later, and is noted.
func (t *Tokenizer) readVocab(s scanner) (*textIndex, error) {
	index := newTextIndex(&t.vocab)
	err := s.members(func(key []byte) error {
		id, err := s.integer()
		if err != nil {
			return err
		}
		if id > maxID {
			return s.errorf("id %d of %.40q is above the limit of %d", id, key, maxID)
		}
		if len(key) == 0 {
			return s.errorf("entry with id %d has no text", id)
		}
		if first, dup := index.id(key); dup && first != id {
			t.duplicates = append(t.duplicates, fmt.Sprintf("%.40q has ids %d and %d", key, first, id))
		}
		if old := t.vocab.text(id); old != nil && string(old) != string(key) {
			return s.errorf("id %d is both %.40q and %.40q", id, old, key)
		}
		t.vocab.set(id, key)
		index.put(id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return index, s.end()
}

// A runeTable maps a rune that is a token by itself to its id, in pages of 256 runes.
type runeTable struct {
	ascii [utf8.RuneSelf]int32 // -1 where there is none
	pages [(utf8.MaxRune + 1) >> 8]*[256]int32
}

func newRuneTable() *runeTable {
	r := new(runeTable)
	for i := range r.ascii {
		r.ascii[i] = -1
	}
	return r
}

func (r *runeTable) put(c rune, id int) {
	if c < utf8.RuneSelf {
		r.ascii[c] = int32(id)
		return
	}
	page := &r.pages[c>>8]
	if *page == nil {
		*page = new([256]int32)
		for i := range *page {
			(*page)[i] = -1
		}
	}
	(*page)[c&0xff] = int32(id)
}

// get returns -1 if c is not a token by itself.
func (r *runeTable) get(c rune) int32 {
	if c < utf8.RuneSelf {
		return r.ascii[c]
	}
	if page := r.pages[c>>8]; page != nil {
		return page[c&0xff]
	}
	return -1
}
