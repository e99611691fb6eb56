package core

import "slices"

// A rewinder takes a sequence back to an earlier position. Full layers forget by counting; the rings of sliding
// layers hold the last rows only. For marked positions (starts of turns, where the next prompt is likely to part
// from this one) it therefore saves a row when it is about to be overwritten: short answers cost nothing, long ones
// at most one window of rows, and what is put back is the same bits.
type rewinder struct {
	ring  ring
	store *rowStore
	marks []int // positions worth going back to, most important first
}

// mark sets the positions worth keeping; those that can no longer be reached are left out. end is the sequence's
// length.
func (r *rewinder) mark(positions []int, end int) {
	r.marks = slices.DeleteFunc(slices.Clone(positions), func(m int) bool { return m < end && !r.reaches(m) })
	r.tidy()
}

func (r *rewinder) tidy() { r.store.keep(r.wanted) }

// wanted reports whether some mark needs position pos.
func (r *rewinder) wanted(pos int) bool {
	return slices.ContainsFunc(r.marks, func(m int) bool { return r.ring.first(m) <= pos && pos < m })
}

// loses reports whether writing positions below hi overwrites rows that a mark needs: the backend must be drained
// before write is called.
func (r *rewinder) loses(hi int) bool {
	for pos := r.ring.low; pos < r.ring.lowAfter(hi); pos++ {
		if r.wanted(pos) && !r.store.has(pos) {
			return true
		}
	}
	return false
}

// write saves what marks need of the rows that writing positions below hi overwrites, and records the write. When
// the budget is used up, the least important mark goes.
func (r *rewinder) write(hi int) {
	for pos := r.ring.low; pos < r.ring.lowAfter(hi); pos++ {
		for r.wanted(pos) && !r.store.save(pos) {
			r.marks = r.marks[:len(r.marks)-1]
			r.tidy()
		}
	}
	r.ring.write(hi)
}

// reaches reports whether a sequence that is valid up to q or further can be taken back to q.
func (r *rewinder) reaches(q int) bool {
	for pos := r.ring.first(q); pos < min(q, r.ring.low); pos++ {
		if !r.store.has(pos) {
			return false
		}
	}
	return true
}

// best returns the highest position up to common that can be continued from.
func (r *rewinder) best(common int) int {
	if r.reaches(common) {
		return common
	}
	best := 0
	for _, m := range r.marks {
		if m <= common && m > best && r.reaches(m) {
			best = m
		}
	}
	return best
}

// rewind takes the sequence back to q, which it reaches; the backend is drained.
func (r *rewinder) rewind(q int) {
	if !r.reaches(q) {
		panic("BUG: core: rewind to a position that is out of reach")
	}
	if !r.ring.holds(q) {
		for pos := r.ring.first(q); pos < min(q, r.ring.low); pos++ {
			r.store.restore(pos)
		}
		r.ring.restored(q)
	}
	r.marks = slices.DeleteFunc(r.marks, func(m int) bool { return m > q })
	r.tidy()
}
