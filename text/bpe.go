package text

// A merger applies merges to one piece of text at a time. It holds the buffers for that and is used by one
// goroutine at a time.
type merger struct {
	table *mergeTable
	ids   []int32  // the piece's symbols; merging shortens them
	ranks []uint32 // ranks[i] is the rank of the pair that starts at symbol i, noRank if it does not merge

	// For long pieces only: neighbours of each symbol that is still alive, -1 past the ends.
	prev, next []int32
	queue      rankQueue
}

// shortPiece is the most symbols for which looking at every pair again after each merge beats the queue.
const shortPiece = 64

// run merges m.ids: always the pair of lowest rank, the leftmost of equals, until none is left. The result
// replaces m.ids.
func (m *merger) run() {
	if len(m.ids) < 2 {
		return
	}
	m.setRanks()
	if len(m.ids) <= shortPiece {
		m.runShort()
	} else {
		m.runLong()
	}
}

func (m *merger) setRanks() {
	m.ranks = m.ranks[:0]
	for i := 1; i < len(m.ids); i++ {
		m.ranks = append(m.ranks, m.table.rank(m.ids[i-1], m.ids[i]))
	}
	m.ranks = append(m.ranks, noRank) // of the last symbol
}

// runShort takes time n², without further memory.
func (m *merger) runShort() {
	ids, ranks := m.ids, m.ranks
	for {
		best, at := noRank, 0
		for i, r := range ranks {
			if r < best {
				best, at = r, i
			}
		}
		if best == noRank {
			break
		}
		ids[at] = m.table.results[best]
		ids = append(ids[:at+1], ids[at+2:]...)
		ranks = append(ranks[:at], ranks[at+1:]...)
		if at > 0 {
			ranks[at-1] = m.table.rank(ids[at-1], ids[at])
		}
		if at+1 < len(ids) {
			ranks[at] = m.table.rank(ids[at], ids[at+1])
		}
	}
	m.ids = ids
}

// runLong takes time n log n. A pair that changes stays in the queue; its entry is recognised as outdated by its
// rank, because a start's pair never gets the same rank twice: its text only grows.
func (m *merger) runLong() {
	m.link()
	m.queue.fill(m.ranks)
	for {
		rank, at, ok := m.queue.pop()
		if !ok {
			break
		}
		if m.ranks[at] == rank {
			m.mergeAt(at)
		}
	}
	n := 0
	for at := int32(0); at >= 0; at = m.next[at] {
		m.ids[n] = m.ids[at]
		n++
	}
	m.ids = m.ids[:n]
}

func (m *merger) link() {
	m.prev, m.next = m.prev[:0], m.next[:0]
	for i := range int32(len(m.ids)) {
		m.prev = append(m.prev, i-1)
		m.next = append(m.next, i+1)
	}
	m.next[len(m.next)-1] = -1
}

// mergeAt joins the symbol at with the next one and queues the two pairs that this makes.
func (m *merger) mergeAt(at int32) {
	gone := m.next[at]
	after := m.next[gone]
	m.ids[at] = m.table.results[m.ranks[at]]
	m.ranks[gone] = noRank
	m.next[at] = after
	if after >= 0 {
		m.prev[after] = at
	}
	m.setRank(at, after)
	if before := m.prev[at]; before >= 0 {
		m.setRank(before, at)
	}
}

// setRank finds the rank of the pair (at, next), where next may be -1.
func (m *merger) setRank(at, next int32) {
	m.ranks[at] = noRank
	if next < 0 {
		return
	}
	if r := m.table.rank(m.ids[at], m.ids[next]); r != noRank {
		m.ranks[at] = r
		m.queue.push(r, at)
	}
}

// A rankQueue is a binary heap of (rank, start), lowest rank first, leftmost of equals.
type rankQueue struct{ heap []uint64 }

// fill replaces the contents by the starts that have a rank.
func (q *rankQueue) fill(ranks []uint32) {
	q.heap = q.heap[:0]
	for at, r := range ranks {
		if r != noRank {
			q.heap = append(q.heap, uint64(r)<<32|uint64(at))
		}
	}
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *rankQueue) push(rank uint32, at int32) {
	q.heap = append(q.heap, uint64(rank)<<32|uint64(at))
	h := q.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up] <= h[i] {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

func (q *rankQueue) pop() (rank uint32, at int32, ok bool) {
	if len(q.heap) == 0 {
		return 0, 0, false
	}
	top, last := q.heap[0], len(q.heap)-1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	q.down(0)
	return uint32(top >> 32), int32(uint32(top)), true
}

func (q *rankQueue) down(i int) {
	h := q.heap
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right] < h[least] {
			least = right
		}
		if h[i] <= h[least] {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
