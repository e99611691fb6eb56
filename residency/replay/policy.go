package replay

import (
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A policy decides for one layer.
type policy interface {
	// use notes that an expert is wanted, and whether it is in a slot.
	use(e gturbo.ExpertID, hit bool)
	// victim returns the index in held of the expert to evict, one for which free is true; there is one.
	victim(held []gturbo.ExpertID, free func(gturbo.ExpertID) bool) int
	evicted(e gturbo.ExpertID)
	// fetched ends a fetch.
	fetched()
}

// policies lists what is compared; future holds the layer's fetches and only the bound looks at it.
var policies = []struct {
	name string
	make func(experts, slots int, future [][]gturbo.ExpertID) policy
}{
	{"lfu", func(e, _ int, _ [][]gturbo.ExpertID) policy { return newCounts(e, 0) }},
	{"lfu, halved", func(e, _ int, _ [][]gturbo.ExpertID) policy { return newCounts(e, halveAfter) }},
	{"lru", func(e, _ int, _ [][]gturbo.ExpertID) policy { return &recency{counts: newCounts(e, 0)} }},
	{"clock", func(e, _ int, _ [][]gturbo.ExpertID) policy { return &clock{used: make([]bool, e)} }},
	{"arc", func(_, s int, _ [][]gturbo.ExpertID) policy { return &arc{slots: s} }},
	{"best possible", func(e, _ int, f [][]gturbo.ExpertID) policy { return &oracle{future: f} }},
}

// halveAfter is the fetches after which the aging LFU halves its counts.
const halveAfter = 256

// counts is the streamer's LFU with recency on a tie; with halve set, old uses lose weight.
type counts struct {
	count, last []int
	tick        int
	halve       int // fetches, 0 for never
	fetches     int
}

func newCounts(experts, halve int) *counts {
	return &counts{count: make([]int, experts), last: make([]int, experts), halve: halve}
}

func (c *counts) use(e gturbo.ExpertID, _ bool) {
	c.tick++
	c.count[e]++
	c.last[e] = c.tick
}

func (c *counts) victim(held []gturbo.ExpertID, free func(gturbo.ExpertID) bool) int {
	return least(held, free, func(a, b gturbo.ExpertID) bool {
		if c.count[a] != c.count[b] {
			return c.count[a] < c.count[b]
		}
		return c.last[a] < c.last[b]
	})
}

func (c *counts) evicted(gturbo.ExpertID) {}

func (c *counts) fetched() {
	if c.fetches++; c.halve > 0 && c.fetches%c.halve == 0 {
		for e := range c.count {
			c.count[e] /= 2
		}
	}
}

// least returns the index of the free expert that comes first by before.
func least(held []gturbo.ExpertID, free func(gturbo.ExpertID) bool, before func(a, b gturbo.ExpertID) bool) int {
	best := -1
	for i, e := range held {
		if free(e) && (best < 0 || before(e, held[best])) {
			best = i
		}
	}
	return best
}

// recency is LRU.
type recency struct{ *counts }

func (r *recency) victim(held []gturbo.ExpertID, free func(gturbo.ExpertID) bool) int {
	return least(held, free, func(a, b gturbo.ExpertID) bool { return r.last[a] < r.last[b] })
}

// clock gives each used expert a second chance before its slot is taken.
type clock struct {
	used []bool // since the hand passed, [E]
	hand int
}

func (c *clock) use(e gturbo.ExpertID, _ bool) { c.used[e] = true }

func (c *clock) victim(held []gturbo.ExpertID, free func(gturbo.ExpertID) bool) int {
	for ; ; c.hand++ {
		at := c.hand % len(held)
		if e := held[at]; free(e) {
			if !c.used[e] {
				c.hand++
				return at
			}
			c.used[e] = false
		}
	}
}

func (c *clock) evicted(gturbo.ExpertID) {}
func (c *clock) fetched()                {}

// arc is the adaptive replacement cache of Megiddo and Modha (FAST 2003): experts used once and more often share the
// slots by a target that moves with what is wanted again soon after it was evicted.
type arc struct {
	slots         int
	target        int               // slots for once
	once, often   []gturbo.ExpertID // in slots, least recent first
	onceG, oftenG []gturbo.ExpertID // evicted from them, as far back as there are slots
	fromOften     bool              // the latest miss was in oftenG
}

func (a *arc) use(e gturbo.ExpertID, hit bool) {
	a.fromOften = false
	switch {
	case hit:
		a.once, a.often = remove(a.once, e), append(remove(a.often, e), e)
	case slices.Contains(a.onceG, e):
		a.target = min(a.slots, a.target+max(1, len(a.oftenG)/len(a.onceG)))
		a.onceG, a.often = remove(a.onceG, e), append(a.often, e)
	case slices.Contains(a.oftenG, e):
		a.target = max(0, a.target-max(1, len(a.onceG)/len(a.oftenG)))
		a.fromOften = true
		a.oftenG, a.often = remove(a.oftenG, e), append(a.often, e)
	default:
		a.once = append(a.once, e)
	}
}

func (a *arc) victim(held []gturbo.ExpertID, free func(gturbo.ExpertID) bool) int {
	lists := [][]gturbo.ExpertID{a.often, a.once}
	if n := len(a.once); n > a.target || n == a.target && a.fromOften {
		slices.Reverse(lists)
	}
	for _, list := range lists {
		for _, e := range list {
			if at := slices.Index(held, e); at >= 0 && free(e) {
				return at
			}
		}
	}
	panic("BUG: replay: no expert may leave")
}

func (a *arc) evicted(e gturbo.ExpertID) {
	if slices.Contains(a.once, e) {
		a.once, a.onceG = remove(a.once, e), trim(append(a.onceG, e), a.slots)
		return
	}
	a.often, a.oftenG = remove(a.often, e), trim(append(a.oftenG, e), a.slots)
}

func (a *arc) fetched() {}

func remove(list []gturbo.ExpertID, e gturbo.ExpertID) []gturbo.ExpertID {
	return slices.DeleteFunc(list, func(x gturbo.ExpertID) bool { return x == e })
}

func trim(list []gturbo.ExpertID, n int) []gturbo.ExpertID { return list[max(0, len(list)-n):] }

// oracle evicts what is wanted again last (Belady): no policy can do better without reading ahead.
type oracle struct {
	future [][]gturbo.ExpertID
	now    int
}

func (o *oracle) use(gturbo.ExpertID, bool) {}

func (o *oracle) victim(held []gturbo.ExpertID, free func(gturbo.ExpertID) bool) int {
	next := make(map[gturbo.ExpertID]int, len(held))
	for _, e := range held {
		next[e] = o.next(e)
	}
	return least(held, free, func(a, b gturbo.ExpertID) bool { return next[a] > next[b] })
}

// next is the fetch that wants e next.
func (o *oracle) next(e gturbo.ExpertID) int {
	for i := o.now + 1; i < len(o.future); i++ {
		if slices.Contains(o.future[i], e) {
			return i
		}
	}
	return len(o.future)
}

func (o *oracle) evicted(gturbo.ExpertID) {}
func (o *oracle) fetched()                { o.now++ }
