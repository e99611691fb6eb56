package replay

import (
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Result counts what a policy did in the scored part of a trace.
type Result struct {
	Policy       string
	Wanted, Hits int
}

// HitRate is the share of wanted experts that were in a slot, 0 to 1.
func (r Result) HitRate() float64 {
	if r.Wanted == 0 {
		return 0
	}
	return float64(r.Hits) / float64(r.Wanted)
}

// Run replays a trace with so many slots a layer under each policy. Fetches before the first scored one teach the
// policies and are not counted: what a policy is tuned on is never what it is judged by.
//
// Within a fetch, experts that it wants are not evicted while others can be, as in the streamer.
func Run(h Header, trace []Fetch, slots, scored int) []Result {
	var results []Result
	for _, p := range policies {
		layers := make([]layer, h.Layers)
		for l := range layers {
			layers[l] = layer{slots: slots, policy: p.make(h.Experts, slots, ofLayer(trace, l))}
		}
		r := Result{Policy: p.name}
		for i, f := range trace {
			hits := layers[f.Layer].fetch(f.Experts)
			if i >= scored {
				r.Wanted += len(f.Experts)
				r.Hits += hits
			}
		}
		results = append(results, r)
	}
	return results
}

func ofLayer(trace []Fetch, l int) [][]gturbo.ExpertID {
	var out [][]gturbo.ExpertID
	for _, f := range trace {
		if int(f.Layer) == l {
			out = append(out, f.Experts)
		}
	}
	return out
}

// A layer is one layer's slots.
type layer struct {
	slots  int
	held   []gturbo.ExpertID // by slot
	policy policy
}

// fetch brings experts in and returns how many were there.
func (l *layer) fetch(experts []gturbo.ExpertID) (hits int) {
	var missed []gturbo.ExpertID
	for _, e := range experts {
		hit := slices.Contains(l.held, e)
		if hit {
			hits++
		} else {
			missed = append(missed, e)
		}
		l.policy.use(e, hit)
	}
	for _, e := range missed {
		if len(l.held) < l.slots {
			l.held = append(l.held, e)
			continue
		}
		free := func(x gturbo.ExpertID) bool { return !slices.Contains(experts, x) }
		if !slices.ContainsFunc(l.held, free) { // a sweep: every slot has served this fetch already
			free = func(gturbo.ExpertID) bool { return true }
		}
		at := l.policy.victim(l.held, free)
		l.policy.evicted(l.held[at])
		l.held[at] = e
	}
	l.policy.fetched()
	return hits
}
