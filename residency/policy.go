package residency

import "github.com/fieldfare/fieldfare/gturbo"

// A history counts the uses of one layer's experts, resident or not. It outlives Release, so that the policy goes on
// as if nothing had happened.
type history struct {
	count []uint64 // fetches that wanted the expert, [E]
	last  []uint64 // tick of the latest, [E]
	tick  uint64
}

func newHistory(experts int) history {
	return history{count: make([]uint64, experts), last: make([]uint64, experts)}
}

// use counts one fetch. If an expert is in it twice, use names it and stops there.
func (h *history) use(experts []gturbo.ExpertID) (e gturbo.ExpertID, twice bool) {
	from := h.tick
	for _, e := range experts {
		if h.last[e] > from {
			return e, true
		}
		h.tick++
		h.count[e]++
		h.last[e] = h.tick
	}
	return 0, false
}

// before reports whether a leaves its slot before b. Ticks of used experts differ, so the order is total among them;
// guesses that nobody has used yet go first, lower id first.
func (h *history) before(p Policy, a, b gturbo.ExpertID) bool {
	if p == LFU && h.count[a] != h.count[b] {
		return h.count[a] < h.count[b]
	}
	if h.last[a] != h.last[b] {
		return h.last[a] < h.last[b]
	}
	return a < b
}
