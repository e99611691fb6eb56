package core

import "github.com/fieldfare/fieldfare/gturbo"

// A grouping turns the router's choice by rows into work by experts. Its slices are reused from layer to layer.
type grouping struct {
	union []gturbo.ExpertID // distinct experts, in the order of their first pick
	picks []Pick            // all picks, those of one expert together, ascending by row
	start []int32           // [E+1]: the picks of expert e begin at start[e]
	next  []int32           // [E]: scratch
}

func newGrouping(experts, rows, topK int) grouping {
	return grouping{
		union: make([]gturbo.ExpertID, 0, experts),
		picks: make([]Pick, rows*topK),
		start: make([]int32, experts+1),
		next:  make([]int32, experts),
	}
}

// group sorts the picks of r by expert and returns the distinct experts. The result is valid until the next call.
func (g *grouping) group(r Routing, topK int) []gturbo.ExpertID {
	clear(g.next)
	g.union = g.union[:0]
	for _, e := range r.Experts {
		if g.next[e] == 0 {
			g.union = append(g.union, e)
		}
		g.next[e]++
	}
	at := int32(0)
	for e, n := range g.next {
		g.start[e], g.next[e] = at, at
		at += n
	}
	g.start[len(g.next)] = at
	for i, e := range r.Experts {
		g.picks[g.next[e]] = Pick{Row: int32(i / topK), Rank: int32(i % topK)}
		g.next[e]++
	}
	return g.union
}

func (g *grouping) picksOf(e gturbo.ExpertID) []Pick { return g.picks[g.start[e]:g.start[e+1]] }
