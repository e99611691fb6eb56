package residency

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A read brings one expert into one slot, in pieces. All its fields belong to the streamer's mu.
type read struct {
	layer   *layer
	expert  gturbo.ExpertID
	slot    int      // none for a guess that has not started
	guess   bool     // nobody has wanted it so far
	dropped bool     // nobody wants it any more: it ends with the pieces under way
	wanted  []*Fetch // to be told when it ends
	fences  []Fence  // queued work that may still read what the slot held
	next    int      // where the first piece begins that nobody has taken
	flying  int      // pieces under way
	err     error    // of the first piece that failed
}

// A piece is bytes [lo, hi) of an expert.
type piece struct {
	*read
	lo, hi int
	guess  bool // as the read was when it was taken
}

// pieceBytes is the most that one call reads. The pieces of an expert are read side by side, so it arrives after a
// fraction of the time that as many experts side by side would take, and work on it runs under the reads of the others;
// and a demand waits for a piece of a guess, not for an expert. Smaller pieces cost more calls and bring no more
// (docs/experiments.md, E10).
const pieceBytes = 2 << 20

// PieceSize is the bytes of one call when an expert of stride bytes is read, in equal pieces but for the last.
func PieceSize(stride int) int {
	n := (stride + pieceBytes - 1) / pieceBytes
	return ((stride+n-1)/n + uncachedAlign - 1) / uncachedAlign * uncachedAlign
}

// start queues a read that somebody waits for.
func (s *Streamer) start(r *read) {
	s.demand = append(s.demand, r)
	s.recruit()
}

// promote turns a guess that a fetch wants after all into a demand for what is missing of it.
func (s *Streamer) promote(r *read) {
	if !r.guess && !r.dropped {
		return
	}
	r.guess, r.dropped = false, false
	s.unqueue(r)
	if r.next < s.dims.Stride {
		s.start(r)
	}
}

// drop gives up a read that nobody wants: at once, or when its pieces under way have landed. One whose last piece is
// under way already goes on: it costs nothing more.
func (s *Streamer) drop(r *read) {
	s.unqueue(r)
	switch {
	case r.next == s.dims.Stride:
	case r.flying > 0:
		r.dropped = true
	case r.slot != none:
		r.layer.clear(r.slot)
	}
}

func (s *Streamer) unqueue(r *read) {
	same := func(q *read) bool { return q == r }
	s.demand = slices.DeleteFunc(s.demand, same)
	s.wishes = slices.DeleteFunc(s.wishes, same)
}

// recruit starts goroutines for queued pieces, up to the number allowed in flight. They end when the queues are empty.
func (s *Streamer) recruit() {
	n := 0
	for _, queue := range [][]*read{s.demand, s.wishes} {
		for _, r := range queue {
			n += (s.dims.Stride - r.next + s.piece - 1) / s.piece
		}
	}
	for ; n > 0 && s.workers < s.opts.Reads; n-- {
		if s.workers == 0 {
			s.busyFrom = time.Now()
		}
		s.workers++
		go s.work()
	}
}

func (s *Streamer) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		p, ok := s.next()
		if !ok {
			break
		}
		file, bytes, fences := p.layer.file, p.layer.slots[p.slot].bytes[p.lo:p.hi], p.fences
		s.mu.Unlock()

		for _, f := range fences {
			f.Wait()
		}
		from := time.Now()
		err := s.fill(file, bytes, p)
		took := time.Since(from)

		s.mu.Lock()
		s.landed(p, took, err)
	}
	s.workers--
	if s.workers == 0 {
		s.stats.BusyTime += time.Since(s.busyFrom)
		s.idle.Broadcast()
	}
}

// next takes a piece off the queues: demands first; a guess only while guesses leave half of the reads free, so that
// a demand never waits behind a full row of them.
func (s *Streamer) next() (piece, bool) {
	if len(s.demand) > 0 {
		return s.take(&s.demand), true
	}
	if s.guessing >= max(1, s.opts.Reads/2) {
		return piece{}, false
	}
	return s.nextWish()
}

// take cuts the next piece off the first read of a queue, which leaves the queue with its last.
func (s *Streamer) take(queue *[]*read) piece {
	r := (*queue)[0]
	if r.next == 0 {
		sl := &r.layer.slots[r.slot]
		r.fences, sl.fences = sl.fences, nil
	}
	p := piece{read: r, lo: r.next, hi: min(r.next+s.piece, s.dims.Stride), guess: r.guess}
	r.next = p.hi
	r.flying++
	if r.next == s.dims.Stride {
		*queue = (*queue)[1:]
	}
	return p
}

// landed books a piece, and with the last one publishes the end of the read to whoever waits for it.
func (s *Streamer) landed(p piece, took time.Duration, err error) {
	r := p.read
	r.flying--
	if p.guess {
		s.guessing--
	}
	s.stats.ReadTime += took
	s.stats.SlowestRead = max(s.stats.SlowestRead, took)
	if err == nil {
		s.stats.Bytes += int64(p.hi - p.lo)
	} else if r.err == nil {
		r.err, r.next = err, s.dims.Stride
		s.unqueue(r)
	}
	if r.flying > 0 || r.next < s.dims.Stride && !r.dropped {
		return
	}
	if r.err == nil && !r.dropped {
		r.layer.slots[r.slot].read = nil
		s.stats.Reads++
	} else {
		r.layer.clear(r.slot)
	}
	for _, f := range r.wanted {
		f.arrived(r, r.err)
	}
	s.serve(r.layer)
}

// fill reads one piece in full. Interrupted calls are repeated and short ones continued.
func (s *Streamer) fill(file File, dst []byte, p piece) error {
	if s.opts.Poison {
		for i := range dst {
			dst[i] = 0xff
		}
	}
	offset := s.src.ExpertOffset(p.layer.id, p.expert) + int64(p.lo)
	got, err := readFull(file, dst, offset, s.opts.Uncached)
	if err != nil {
		return fmt.Errorf("layer %d: read expert %d: got %d of %d bytes at offset %d: %w: %w",
			p.layer.id, p.expert, got, len(dst), offset, ErrRead, err)
	}
	return nil
}

// maxStalls bounds calls in a row that read nothing and say nothing.
const maxStalls = 100

func readFull(file io.ReaderAt, dst []byte, offset int64, aligned bool) (got int, err error) {
	for stalls := 0; got < len(dst); {
		if aligned { // uncached reads begin at a multiple of the disk's block
			got = got / uncachedAlign * uncachedAlign
		}
		n, err := file.ReadAt(dst[got:], offset+int64(got))
		got += n
		switch {
		case got == len(dst), errors.Is(err, syscall.EINTR):
		case errors.Is(err, io.EOF):
			return got, io.ErrUnexpectedEOF
		case err != nil:
			return got, err
		case n == 0:
			if stalls++; stalls == maxStalls {
				return got, io.ErrNoProgress
			}
			continue
		}
		stalls = 0
	}
	return got, nil
}

// uncachedAlign covers the block sizes of disks.
const uncachedAlign = 4096
