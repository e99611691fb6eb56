package residency

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// A read brings one expert into one slot. All its fields belong to the streamer's mu.
type read struct {
	layer  *layer
	expert gturbo.ExpertID
	slot   int      // none for a guess that has not started
	guess  bool     // nobody wanted it when it started
	wanted []*Fetch // to be told when it ends
	begun  bool
}

// start queues a read that somebody waits for.
func (s *Streamer) start(r *read) {
	s.demand = append(s.demand, r)
	s.recruit()
}

// recruit starts goroutines for queued reads, up to the number allowed in flight. They end when the queues are empty.
func (s *Streamer) recruit() {
	for n := len(s.demand) + len(s.wishes); n > 0 && s.workers < s.opts.Reads; n-- {
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
		r := s.next()
		if r == nil {
			break
		}
		sl := &r.layer.slots[r.slot]
		fences := sl.fences
		sl.fences = nil
		file, bytes := r.layer.file, sl.bytes
		s.mu.Unlock()

		for _, f := range fences {
			f.Wait()
		}
		from := time.Now()
		err := s.fill(file, bytes, r)
		took := time.Since(from)

		s.mu.Lock()
		s.finish(r, took, err)
	}
	s.workers--
	if s.workers == 0 {
		s.stats.BusyTime += time.Since(s.busyFrom)
		s.idle.Broadcast()
	}
}

// next takes a read off the queues: demands first; a guess only while guesses leave half of the reads free, so that
// a demand never waits behind a full row of them.
func (s *Streamer) next() *read {
	if len(s.demand) > 0 {
		r := s.demand[0]
		s.demand = s.demand[1:]
		r.begun = true
		return r
	}
	if s.guessing >= max(1, s.opts.Reads/2) {
		return nil
	}
	return s.nextWish()
}

// finish publishes the end of a read to whoever waits for it.
func (s *Streamer) finish(r *read, took time.Duration, err error) {
	if r.guess {
		s.guessing--
	}
	l, sl := r.layer, &r.layer.slots[r.slot]
	if err == nil {
		sl.read = nil
		s.stats.Reads++
		s.stats.Bytes += int64(s.dims.Stride)
		s.stats.ReadTime += took
		s.stats.SlowestRead = max(s.stats.SlowestRead, took)
	} else {
		l.clear(r.slot)
	}
	for _, f := range r.wanted {
		f.arrived(r, err)
	}
	s.serve(l)
}

// fill reads one expert in full. Interrupted calls are repeated and short ones continued.
func (s *Streamer) fill(file File, dst []byte, r *read) error {
	if s.opts.Poison {
		for i := range dst {
			dst[i] = 0xff
		}
	}
	offset := s.src.ExpertOffset(r.layer.id, r.expert)
	got, err := readFull(file, dst, offset, s.opts.Uncached)
	if err != nil {
		return fmt.Errorf("layer %d: read expert %d: got %d of %d bytes at offset %d: %w: %w",
			r.layer.id, r.expert, got, len(dst), offset, ErrRead, err)
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
