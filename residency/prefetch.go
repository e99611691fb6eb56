package residency

import (
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Prefetch starts reads for experts that a layer will probably want soon (router lookahead), best guess first. It
// waits for nothing but the opening of the layer, reports nothing and pins nothing. A guess takes only what demands leave
// of the disk, piece by piece: none is begun while a demand waits, so a saturated disk reads no guesses. When the
// layer's next fetch comes, it finishes the guesses that it wants first and drops the others. A new call replaces the
// layer's earlier guesses.
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
	l.foretold = append(l.foretold[:0], experts...)
	for _, e := range experts {
		if l.where[e] == none {
			s.wishes = append(s.wishes, &read{layer: l, expert: e, slot: none, guess: true})
		}
	}
	s.recruit()
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
