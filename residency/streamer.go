package residency

import (
	"errors"
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A Streamer keeps the experts of all layers: some in slots, the others one read away. Layers open on first use.
// Methods may be called from any goroutine.
type Streamer struct {
	src    Source
	dims   Dims
	opts   Options
	piece  int // bytes of one call, see pieceBytes
	layers []layer

	mu       sync.Mutex
	idle     sync.Cond // workers became 0
	closed   bool
	fetches  int     // open ones
	demand   []*read // to be started, first come first
	wishes   []*read // guesses to be read when no demand is waiting
	workers  int     // goroutines that read, at most opts.Reads
	guessing int     // pieces of guesses under way
	given    uint64  // fences taken so far
	busyFrom time.Time
	stats    Stats
}

// NewStreamer makes a streamer; nothing is opened or allocated yet. Close it.
func NewStreamer(src Source, dims Dims, opts Options) (*Streamer, error) {
	if err := errors.Join(dims.validate(), opts.Validate()); err != nil {
		return nil, err
	}
	s := &Streamer{src: src, dims: dims, opts: opts.withDefaults(dims.Experts), layers: make([]layer, dims.Layers)}
	s.piece = PieceSize(dims.Stride)
	s.idle.L = &s.mu
	for i := range s.layers {
		s.layers[i] = layer{id: gturbo.LayerID(i), history: newHistory(dims.Experts)}
	}
	return s, nil
}

// Stats returns the counts so far.
func (s *Streamer) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.BusyTime = s.busyTime(time.Now())
	return st
}

// busyTime is the time with reads in flight up to now.
func (s *Streamer) busyTime(now time.Time) time.Duration {
	if s.workers > 0 {
		return s.stats.BusyTime + now.Sub(s.busyFrom)
	}
	return s.stats.BusyTime
}

// Options returns the options in effect, defaults filled in.
func (s *Streamer) Options() Options { return s.opts }

// Release closes every descriptor and gives every slot and mapping back, at a quiet point: no fetch is open and the
// backend is drained (a fetch that is open is a bug and panics). Guesses are forgotten. The next fetch opens its
// layer again; policy and statistics go on where they were.
func (s *Streamer) Release() error {
	for i := range s.layers {
		s.layers[i].opening.Lock()
		defer s.layers[i].opening.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetches > 0 {
		panic("BUG: residency: released while a fetch is open")
	}
	s.dropWishes(nil)
	for s.workers > 0 {
		s.idle.Wait()
	}
	var errs []error
	for i := range s.layers {
		errs = append(errs, s.closeLayer(&s.layers[i]))
	}
	return errors.Join(errs...)
}

// Close releases everything for good.
func (s *Streamer) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.Release()
}
