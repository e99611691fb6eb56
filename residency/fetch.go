package residency

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A Fetch brings the experts that one layer's router chose, each exactly once. It is used by one goroutine:
//
//	f, err := s.Fetch(ctx, layer, experts)
//	defer f.Close()
//	for {
//		x, ok, err := f.Next(ctx)
//		if err != nil || !ok { ... }
//		fence, err := queue work on x.Bytes
//		f.Done(x, fence)
//	}
//
// Reads go on while the caller works. A choice of more experts than there are slots is swept: every Done lets a
// further read start, so at least one slot must be given back before Next can bring the next tile.
type Fetch struct {
	s     *Streamer
	l     *layer
	wants []want
	ready []int         // wants that are present and that Next has not brought, hits first
	left  int           // wants that Next has not brought
	lent  int           // brought and not given back
	wake  chan struct{} // capacity 1: something became ready, failed, or a slot came free
	err   error
	ended bool
}

type want struct {
	expert gturbo.ExpertID
	slot   int
	state  state
	hit    bool
}

type state uint8

const (
	waiting state = iota // has no slot
	reading              // its slot is being filled
	present              // its slot holds it
	lent                 // the caller works on it
	given                // the caller has given it back
)

// Loaded is one expert in memory. Bytes holds its blob, read-only, until Done.
type Loaded struct {
	Expert gturbo.ExpertID
	Bytes  []byte
	Hit    bool // needed no read when it was asked for
	want   int
}

// Fetch decides which of experts already sit in slots and which slot each miss will fill, pins them all and starts
// the reads. It waits for no read, but opens the layer on first use. Errors wrap ErrOpen or ErrClosed.
//
// experts holds the union of the router's choices, ids without duplicates (else a bug, and a panic). Close the
// Fetch at any point.
func (s *Streamer) Fetch(ctx context.Context, id gturbo.LayerID, experts []gturbo.ExpertID) (*Fetch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &s.layers[id]
	f := &Fetch{s: s, l: l, wants: make([]want, len(experts)), left: len(experts), wake: make(chan struct{}, 1)}
	for i, e := range experts {
		f.wants[i] = want{expert: e, slot: none}
	}
	// A Release may come between opening and locking; it needs no open fetch, so look again.
	for {
		if err := s.openLayer(l); err != nil {
			return nil, err
		}
		s.mu.Lock()
		if l.open {
			break
		}
		s.mu.Unlock()
	}
	defer s.mu.Unlock()
	if e, twice := l.history.use(experts); twice {
		panic(fmt.Sprintf("BUG: residency: layer %d: expert %d asked for twice in one fetch", id, e))
	}
	s.fetches++
	s.stats.Fetches++
	if s.opts.Mapped {
		f.placeMapped()
		return f, nil
	}
	f.pinPresent()
	s.dropWishes(l)
	l.foretold = l.foretold[:0]
	l.waiting = append(l.waiting, f)
	s.serve(l)
	return f, nil
}

func (f *Fetch) notify() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Next brings the next expert: hits first, in the order asked for, then the others as their reads end. It waits for
// a read if it must; false means that all have been brought. After an error (ErrRead, ErrNoSlot, or that of ctx as
// it is) the fetch brings nothing more and wants to be closed.
func (f *Fetch) Next(ctx context.Context) (Loaded, bool, error) {
	for {
		x, ok, err := f.pop()
		if ok || err != nil || f.left == 0 {
			return x, ok, err
		}
		from := time.Now()
		select {
		case <-f.wake:
		case <-ctx.Done():
			err = ctx.Err()
		}
		f.s.mu.Lock()
		f.s.stats.Waited += time.Since(from)
		f.s.mu.Unlock()
		if err != nil {
			return Loaded{}, false, err
		}
	}
}

// pop takes what is present now.
func (f *Fetch) pop() (Loaded, bool, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.ended {
		panic("BUG: residency: Next on a closed fetch")
	}
	if f.err != nil {
		return Loaded{}, false, f.err
	}
	if len(f.ready) > 0 {
		i := f.ready[0]
		f.ready = f.ready[1:]
		return f.lend(i), true, nil
	}
	if f.left > 0 && f.stuck() {
		f.err = fmt.Errorf("layer %d: all %d slots are held by the caller, %d experts are still wanted: %w",
			f.l.id, len(f.l.slots), f.left, ErrNoSlot)
		return Loaded{}, false, f.err
	}
	return Loaded{}, false, nil
}

// Ready reports whether Next has an expert at once.
func (f *Fetch) Ready() bool {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.err == nil && len(f.ready) > 0
}

// Left is how many experts Next has not brought yet.
func (f *Fetch) Left() int {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.left
}

// stuck reports whether only the caller's own Done can free a slot.
func (f *Fetch) stuck() bool {
	if f.lent < len(f.l.slots) {
		return false
	}
	for i := range f.wants {
		if f.wants[i].state == reading {
			return false
		}
	}
	return true
}

func (f *Fetch) lend(i int) Loaded {
	w := &f.wants[i]
	w.state = lent
	f.left--
	f.lent++
	return Loaded{Expert: w.expert, Bytes: f.bytes(w), Hit: w.hit, want: i}
}

func (f *Fetch) bytes(w *want) []byte {
	if f.s.opts.Mapped {
		return f.mapped(w.expert)
	}
	return f.l.slots[w.slot].bytes
}

// Done gives an expert's slot back. fence is the work that still reads its bytes, nil for none: the slot is filled
// again only when the fence has passed. A second Done for the same expert panics.
func (f *Fetch) Done(x Loaded, fence Fence) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &f.wants[x.want]
	if w.state != lent || w.expert != x.Expert {
		panic(fmt.Sprintf("BUG: residency: layer %d: expert %d given back twice or never lent", f.l.id, x.Expert))
	}
	w.state = given
	f.lent--
	if s.opts.Mapped {
		if fence != nil {
			f.l.queued = fence
		}
		return
	}
	sl := &f.l.slots[w.slot]
	sl.pins--
	if fence != nil && !fence.Passed() {
		s.given++
		sl.given = s.given
		sl.fences = append(sl.fences, fence)
	}
	s.serve(f.l)
}

// Close gives back what the fetch still holds and forgets reads that nobody else waits for; those under way end in
// the background. Queued work must have been named by Done before. Closing twice is fine.
func (f *Fetch) Close() {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.ended {
		return
	}
	f.ended = true
	s.fetches--
	if s.opts.Mapped {
		return
	}
	f.leave()
	for i := range f.wants {
		switch w := &f.wants[i]; w.state {
		case reading:
			f.l.slots[w.slot].pins--
			s.forget(f.l.slots[w.slot].read, f)
		case present, lent:
			f.l.slots[w.slot].pins--
		}
	}
	s.serve(f.l)
}
