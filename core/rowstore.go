package core

import (
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

// slabRows is how many saved rows share one allocation.
const slabRows = 32

// A rowStore holds copies of ring rows, one entry a position with the keys and values of all sliding layers. Its
// memory is outside the Go heap and grows as rows are saved; freed entries are used again.
type rowStore struct {
	cache     Cache
	layers    []gturbo.LayerID // the sliding ones
	ringRows  int
	entrySize int
	most      int         // entries allowed
	entry     map[int]int // position -> entry
	free      []int
	slabs     []*pages.Region
}

// newRowStore makes an empty store that may grow to budget bytes; 0 means as many rows as the rings have.
func newRowStore(cfg *Config, cache Cache, budget int64) *rowStore {
	s := &rowStore{cache: cache, ringRows: cache.Spec().Ring, entry: map[int]int{}}
	for l, layer := range cfg.Layers {
		if layer.Full {
			continue
		}
		id := gturbo.LayerID(l)
		k, v := cache.Layer(id)
		s.layers = append(s.layers, id)
		s.entrySize += (len(k) + len(v)) / s.ringRows
	}
	s.most = s.ringRows
	if budget != 0 && s.entrySize > 0 {
		s.most = int(budget / int64(s.entrySize))
	}
	return s
}

func (s *rowStore) has(pos int) bool {
	_, ok := s.entry[pos]
	return ok
}

// save copies position pos out of the rings; the backend is drained. It reports false when the budget is used up or
// the system has no memory: a copy that is not there costs time later, never correctness.
func (s *rowStore) save(pos int) bool {
	if s.has(pos) {
		return true
	}
	if len(s.free) == 0 && !s.grow() {
		return false
	}
	e := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.entry[pos] = e
	s.exchange(pos, e, func(saved, row []byte) { copy(saved, row) })
	return true
}

// restore copies position pos back into the rings; the backend is drained.
func (s *rowStore) restore(pos int) {
	e, ok := s.entry[pos]
	if !ok {
		panic("BUG: core: restore of a row that was not saved")
	}
	s.exchange(pos, e, func(saved, row []byte) { copy(row, saved) })
}

// exchange calls move for each part of an entry and the ring row that it stands for.
func (s *rowStore) exchange(pos, entry int, move func(saved, row []byte)) {
	at := entry % slabRows * s.entrySize
	slab := s.slabs[entry/slabRows].Bytes()
	for _, l := range s.layers {
		k, v := s.cache.Layer(l)
		for _, side := range [2][]byte{k, v} {
			size := len(side) / s.ringRows
			row := side[pos%s.ringRows*size:][:size]
			move(slab[at:at+size], row)
			at += size
		}
	}
}

func (s *rowStore) grow() bool {
	held := len(s.slabs) * slabRows
	if held >= s.most {
		return false
	}
	slab, err := pages.Alloc("kv saved rows", min(slabRows, s.most-held)*s.entrySize)
	if err != nil {
		return false
	}
	s.slabs = append(s.slabs, slab)
	for e := min(held+slabRows, s.most) - 1; e >= held; e-- {
		s.free = append(s.free, e)
	}
	return true
}

// keep drops every entry whose position wanted denies.
func (s *rowStore) keep(wanted func(pos int) bool) {
	for pos, e := range s.entry {
		if !wanted(pos) {
			delete(s.entry, pos)
			s.free = append(s.free, e)
		}
	}
}

func (s *rowStore) sizeBytes() int64 {
	n := int64(0)
	for _, r := range s.slabs {
		n += int64(len(r.Bytes()))
	}
	return n
}

// release gives all memory back; the store can be used again.
func (s *rowStore) release() error {
	var first error
	for _, r := range s.slabs {
		if err := r.Close(); err != nil && first == nil {
			first = err
		}
	}
	s.slabs, s.free = nil, nil
	clear(s.entry)
	return first
}
