package residency

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

// faulty is a File that misbehaves as fault says.
type faulty struct {
	File
	mu    sync.Mutex
	fault func(p []byte, off int64, read func([]byte, int64) (int, error)) (int, error)
}

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault(p, off, f.File.ReadAt)
}

type readFunc = func([]byte, int64) (int, error)

func TestFaultsOfTheDisk(t *testing.T) {
	for name, c := range map[string]struct {
		fault   func(calls int, p []byte, off int64, read readFunc) (int, error)
		want    error  // nil: the read succeeds
		message string // part of the error
	}{
		"an interrupted call is repeated": {fault: func(n int, p []byte, off int64, read readFunc) (int, error) {
			if n%3 != 0 {
				return 0, syscall.EINTR
			}
			return read(p, off)
		}},
		"an interrupted call keeps what it got": {fault: func(n int, p []byte, off int64, read readFunc) (int, error) {
			if n == 1 {
				got, _ := read(p[:777], off)
				return got, syscall.EINTR
			}
			return read(p, off)
		}},
		"a short read is continued": {fault: func(_ int, p []byte, off int64, read readFunc) (int, error) {
			return read(p[:min(1000, len(p))], off)
		}},
		"the end of file with the last byte is fine": {fault: func(_ int, p []byte, off int64, read readFunc) (int, error) {
			n, _ := read(p, off)
			return n, io.EOF
		}},
		"a file cut short": {fault: func(_ int, p []byte, off int64, read readFunc) (int, error) {
			n, _ := read(p[:4096], off)
			return n, io.EOF
		}, want: io.ErrUnexpectedEOF, message: "layer 1: read expert 3: got 4096 of 16384 bytes at offset 327680: "},
		"a disk error": {fault: func(n int, p []byte, off int64, read readFunc) (int, error) {
			if n == 1 {
				return read(p[:100], off)
			}
			return 0, syscall.EIO
		}, want: syscall.EIO, message: "layer 1: read expert 3: got 100 of 16384 bytes at offset 327680: "},
		"a file that says nothing": {fault: func(int, []byte, int64, readFunc) (int, error) { return 0, nil },
			want: io.ErrNoProgress, message: "got 0 of 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, small)
			calls, healed := 0, false
			d.wrap = func(_ gturbo.LayerID, f File) File {
				return &faulty{File: f, fault: func(p []byte, off int64, read func([]byte, int64) (int, error)) (int, error) {
					if calls++; healed {
						return read(p, off)
					}
					return c.fault(calls, p, off, read)
				}}
			}
			s := newStreamer(t, d, Options{Slots: 4})
			f, err := s.Fetch(ctx, 1, []gturbo.ExpertID{3})
			if err != nil {
				t.Fatal(err)
			}
			x, ok, err := f.Next(ctx)
			if !errors.Is(err, c.want) || c.want == nil && (!ok || err != nil) {
				t.Fatalf("Next: %v, %v; want %v", ok, err, c.want)
			}
			if c.want == nil {
				checkBytes(t, 1, 3, x.Bytes)
			} else if !errors.Is(err, ErrRead) || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%v: want ErrRead and %q", err, c.message)
			}
			if _, _, again := f.Next(ctx); again != err {
				t.Errorf("Next again: %v, want %v", again, err)
			}
			f.Close()
			s.mu.Lock() // no read is under way: the fetch had one want
			healed = true
			s.mu.Unlock()
			sweep(t, s, 1, span(0, 8))
		})
	}
}

func TestAFailedGuessIsForgottenAndTheDemandReports(t *testing.T) {
	d := newDisk(t, small)
	d.wrap = func(_ gturbo.LayerID, f File) File {
		return &faulty{File: f, fault: func([]byte, int64, readFunc) (int, error) { return 0, syscall.EIO }}
	}
	s := newStreamer(t, d, Options{Slots: 4})
	s.Prefetch(0, span(0, 2))
	f := mustFetch(t, s, 1)
	defer f.Close()
	if _, _, err := f.Next(ctx); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v, want EIO", err)
	}
}

func TestALayerThatDoesNotOpen(t *testing.T) {
	d := newDisk(t, small)
	d.fail = errors.New("no such layer")
	s := newStreamer(t, d, Options{})
	s.Prefetch(1, span(0, 2))
	if _, err := s.Fetch(ctx, 1, span(0, 2)); !errors.Is(err, ErrOpen) || !errors.Is(err, d.fail) {
		t.Errorf("%v, want ErrOpen and the cause", err)
	}
	d.fail = nil
	sweep(t, s, 1, span(0, 2))
}

// TestHammer has several goroutines fetch, guess, give up, hold fences and meet faults on the same few slots, and
// checks every byte that anybody sees.
func TestHammer(t *testing.T) {
	for name, c := range map[string]struct {
		Options
		piece int
	}{
		"tight":            {Options{Slots: 2, Reads: 3, Poison: true}, small.Stride},
		"roomy":            {Options{Slots: 12, Policy: LRU, Poison: true}, small.Stride},
		"tight, in pieces": {Options{Slots: 2, Reads: 3, Poison: true}, 4096},
		"roomy, in pieces": {Options{Slots: 12, Reads: 6, Poison: true}, 4096},
		"mapped":           {Options{Mapped: true}, small.Stride},
	} {
		t.Run(name, func(t *testing.T) {
			d, opts := newDisk(t, small), c.Options
			if !opts.Mapped {
				d.wrap = func(_ gturbo.LayerID, f File) File { return &faulty{File: f, fault: sometimes()} }
			}
			s := newStreamer(t, d, opts)
			s.piece = c.piece
			for round := range 3 {
				var wg sync.WaitGroup
				for g := range 4 {
					wg.Go(func() { hammer(t, s, rand.New(rand.NewPCG(uint64(round), uint64(g)))) })
				}
				wg.Wait()
				if err := s.Release(); err != nil {
					t.Fatal(err)
				}
				for i := range s.layers {
					if l := &s.layers[i]; l.open || len(l.waiting) != 0 {
						t.Fatalf("layer %d: open %v, %d fetches wait", i, l.open, len(l.waiting))
					}
				}
			}
		})
	}
}

// sometimes returns a fault: one call in forty fails, one in four is short or interrupted.
func sometimes() func([]byte, int64, func([]byte, int64) (int, error)) (int, error) {
	rng := rand.New(rand.NewPCG(7, 7))
	return func(p []byte, off int64, read func([]byte, int64) (int, error)) (int, error) {
		switch n := rng.IntN(40); {
		case n == 0:
			return 0, syscall.EIO
		case n < 5:
			return read(p[:1+rng.IntN(len(p))], off)
		case n < 10:
			return 0, syscall.EINTR
		}
		return read(p, off)
	}
}

func hammer(t *testing.T, s *Streamer, rng *rand.Rand) {
	var work sync.WaitGroup
	defer work.Wait()
	for range 120 {
		l := gturbo.LayerID(rng.IntN(small.Layers))
		experts := span(0, small.Experts)
		rng.Shuffle(len(experts), func(i, j int) { experts[i], experts[j] = experts[j], experts[i] })
		experts = experts[:rng.IntN(len(experts))]
		if rng.IntN(3) == 0 {
			s.Prefetch(l, experts[:len(experts)/3])
		}
		f, err := s.Fetch(ctx, l, experts)
		if err != nil {
			t.Error(err)
			return
		}
		stop := len(experts) + 1
		if rng.IntN(4) == 0 {
			stop = rng.IntN(len(experts) + 1)
		}
		for range stop {
			x, ok, err := f.Next(ctx)
			if err != nil && !errors.Is(err, syscall.EIO) {
				t.Error(err)
			}
			if err != nil || !ok {
				break
			}
			if rng.IntN(2) == 0 {
				checkBytes(t, l, x.Expert, x.Bytes)
				f.Done(x, nil)
				continue
			}
			fence := make(manual)
			work.Go(func() {
				checkBytes(t, l, x.Expert, x.Bytes)
				close(fence)
			})
			f.Done(x, fence)
		}
		f.Close()
	}
}
