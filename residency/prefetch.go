package residency

import (
	"slices"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Prefetch starts reads for experts that a layer will probably want soon (router lookahead), best guess first. It
// waits for nothing but the opening of the layer, reports nothing and pins nothing. Demands go first; guesses that
// have not started when the layer's next fetch comes are dropped, and so are all guesses while the disk has no time to
// spare. A new call replaces the layer's earlier guesses.
func (s *Streamer) Prefetch(id gturbo.LayerID, experts []gturbo.ExpertID) {
	l := &s.layers[id]
	if s.openLayer(l) != nil {
		return // the fetch that follows meets the same error and reports it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.open || s.closed {
		return
	}
	if s.opts.Mapped {
		s.foresee(l, experts)
		return
	}
	s.dropWishes(l)
	if s.saturated(time.Now()) {
		l.foretold = l.foretold[:0]
		s.stats.GuessesDropped += int64(len(experts))
		return
	}
	l.foretold = append(l.foretold[:0], experts...)
	for _, e := range experts {
		if l.where[e] == none {
			s.wishes = append(s.wishes, &read{layer: l, expert: e, slot: none, guess: true})
		}
	}
	s.recruit()
}

const (
	// saturatedBy is the share of the time with reads in flight from which on a wrong guess costs more than a right one
	// wins.
	saturatedBy     = 0.8
	saturatedWindow = 500 * time.Millisecond
	saturatedReads  = 32 // in a window; fewer say nothing
)

// saturated reports whether reads were in flight nearly all the time of the last window.
func (s *Streamer) saturated(now time.Time) bool {
	w := &s.window
	took := now.Sub(w.from)
	if took < saturatedWindow {
		return w.full
	}
	busy := s.busyTime(now)
	if !w.from.IsZero() && s.stats.Reads-w.reads >= saturatedReads {
		w.full = float64(busy-w.busy) > saturatedBy*float64(took)
	}
	w.from, w.busy, w.reads = now, busy, s.stats.Reads
	return w.full
}

// dropWishes gives up the guesses of l that nobody wants; nil means of all layers.
func (s *Streamer) dropWishes(l *layer) {
	for _, r := range slices.Clone(s.wishes) {
		if l == nil || r.layer == l {
			s.stats.GuessesDropped++
			s.drop(r)
		}
	}
}

// nextWish takes a piece of the first guess that is under way or can start: its expert is still absent, and a slot is
// free that no work reads and whose expert was not guessed too.
func (s *Streamer) nextWish() (piece, bool) {
	for len(s.wishes) > 0 {
		r := s.wishes[0]
		if r.slot == none && !s.place(r) {
			s.stats.GuessesDropped++
			s.wishes = s.wishes[1:]
			continue
		}
		s.guessing++
		return s.take(&s.wishes), true
	}
	return piece{}, false
}

// place finds a slot for a guess.
func (s *Streamer) place(r *read) bool {
	l := r.layer
	at := s.victim(l, l.foretold)
	if l.where[r.expert] != none || at == none || l.slots[at].busy() {
		return false
	}
	s.assign(l, at, r)
	l.slots[at].guessed = true
	s.stats.Guesses++
	return true
}
