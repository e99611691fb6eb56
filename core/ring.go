package core

// A ring knows which positions of a sequence the sliding layers' rings still hold. Position p lies in row p % rows;
// writing p + rows takes its place, also when the sequence is rewound afterwards, so what counts is how far it ever
// was written.
type ring struct {
	window int // W
	rows   int // C
	high   int // one past the highest position that was ever written
	low    int // every position from low up to the sequence's end lies in its row
}

// lowAfter returns what low becomes once positions below hi are written: positions [low, lowAfter) are lost.
func (r *ring) lowAfter(hi int) int { return max(r.low, hi-r.rows) }

// write records that positions below hi are, or are about to be, written. It is called before the work is queued: a
// chunk that is broken off may have overwritten any of its rows.
func (r *ring) write(hi int) {
	r.low = r.lowAfter(hi)
	r.high = max(r.high, hi)
}

// first returns the lowest position that a row at position q or later can see.
func (r *ring) first(q int) int { return max(0, q-r.window+1) }

// holds reports whether a sequence that is valid up to q or further can continue at q from what lies in the rings.
func (r *ring) holds(q int) bool { return r.low <= r.first(q) }

// restored records that the rows [first(q), q) were put back, and that nothing from q on counts any more.
func (r *ring) restored(q int) { r.low, r.high = r.first(q), q }
