package residency

import (
	"strings"
	"syscall"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

// inPieces is gated with experts of four pieces.
func inPieces(t *testing.T, opts Options) (*Streamer, *disk, *gate) {
	s, d, g := gated(t, opts)
	s.piece = s.dims.Stride / 4
	return s, d, g
}

// letThrough lets n reads end.
func letThrough(g *gate, n int) {
	for range n {
		g.pass <- struct{}{}
	}
}

// wantBegan fails unless the next reads that begin belong to these experts.
func wantBegan(t *testing.T, d *disk, g *gate, experts ...gturbo.ExpertID) {
	t.Helper()
	for i, want := range experts {
		if got := d.began(t, g); got != want {
			t.Errorf("read %d is of expert %d, want %d", i, got, want)
		}
	}
}

func TestPiecesCoverAnExpert(t *testing.T) {
	for _, c := range []struct{ stride, pieces int }{
		{16384, 1}, {2 << 20, 1}, {2<<20 + 16384, 2}, {3358720, 2}, {64 << 20, 32},
	} {
		size := PieceSize(c.stride)
		if n := (c.stride + size - 1) / size; n != c.pieces || size%uncachedAlign != 0 || size > pieceBytes {
			t.Errorf("%d bytes: %d pieces of %d, want %d", c.stride, n, size, c.pieces)
		}
	}
}

func TestAnExpertArrivesWhileTheNextIsRead(t *testing.T) {
	s, d, g := inPieces(t, Options{Slots: 8, Reads: 1})
	f := mustFetch(t, s, 4, 5)
	defer f.Close()
	letThrough(g, 4)
	wantBegan(t, d, g, 4, 4, 4, 4)
	if x := mustNext(t, f); x.Expert != 4 {
		t.Errorf("expert %d arrives first, want 4", x.Expert)
	}
	letThrough(g, 4)
	wantBegan(t, d, g, 5, 5, 5, 5)
	mustNext(t, f)
	if st := s.Stats(); st.Reads != 2 || st.Bytes != 2*int64(s.dims.Stride) {
		t.Errorf("%+v, want 2 reads", st)
	}
}

func TestAWantedGuessIsFinishedFirst(t *testing.T) {
	s, d, g := inPieces(t, Options{Slots: 8, Reads: 1})
	s.Prefetch(0, []gturbo.ExpertID{10, 11})
	wantBegan(t, d, g, 10)
	f := mustFetch(t, s, 20, 10)
	defer f.Close()
	letThrough(g, 8)
	wantBegan(t, d, g, 10, 10, 10, 20, 20, 20, 20)
	if x := mustNext(t, f); x.Expert != 10 || x.Hit {
		t.Errorf("expert %d arrives first, hit %v; want 10, no hit", x.Expert, x.Hit)
	}
	mustNext(t, f)
	if st := s.Stats(); st.Joined != 1 || st.GuessesUsed != 1 || st.GuessesDropped != 1 || st.Reads != 2 ||
		st.Needed != 2*int64(s.dims.Stride) {
		t.Errorf("%+v, want 1 joined, 1 guess used, 1 dropped, 2 reads", st)
	}
}

func TestAnUnwantedGuessEndsWithItsPiece(t *testing.T) {
	s, d, g := inPieces(t, Options{Slots: 2, Reads: 1})
	s.Prefetch(0, []gturbo.ExpertID{10})
	wantBegan(t, d, g, 10)
	f := mustFetch(t, s, 20, 21)
	defer f.Close()
	letThrough(g, 9)
	wantBegan(t, d, g, 20, 20, 20, 20, 21, 21, 21, 21) // 21 needs the slot of the guess
	mustNext(t, f)
	mustNext(t, f)
	noneBegan(t, g)
	st := s.Stats()
	needed := int64(2 * s.dims.Stride)
	if want := needed + int64(s.piece); st.Bytes != want || st.Needed != needed || st.Reads != 2 || st.GuessesDropped != 1 {
		t.Errorf("%+v, want %d bytes, %d needed, 2 reads, 1 guess dropped", st, want, needed)
	}
}

func TestAGuessGivenUpCanBeWantedAgain(t *testing.T) {
	s, d, g := inPieces(t, Options{Slots: 8, Reads: 1})
	f := mustFetch(t, s, 1)
	wantBegan(t, d, g, 1)
	f.Close() // its piece is under way
	h := mustFetch(t, s, 1)
	defer h.Close()
	letThrough(g, 4)
	wantBegan(t, d, g, 1, 1, 1)
	mustNext(t, h)
	if st := s.Stats(); st.Reads != 1 || st.Bytes != int64(s.dims.Stride) {
		t.Errorf("%+v, want the read to go on where it was", st)
	}
}

func TestAClosedFetchFreesASlotHalfFilled(t *testing.T) {
	s, d, g := inPieces(t, Options{Slots: 2, Reads: 1})
	f := mustFetch(t, s, 1, 2)
	wantBegan(t, d, g, 1)
	f.Close()
	h := mustFetch(t, s, 7, 8)
	defer h.Close()
	letThrough(g, 9)
	wantBegan(t, d, g, 7, 7, 7, 7, 8, 8, 8, 8)
	mustNext(t, h)
	mustNext(t, h)
	if at := s.layers[0].where[1]; at != none {
		t.Errorf("expert 1 is said to be in slot %d after a quarter of its read", at)
	}
}

func TestAFailedPieceEndsTheRead(t *testing.T) {
	d := newDisk(t, small)
	d.wrap = func(_ gturbo.LayerID, f File) File {
		return &faulty{File: f, fault: func(p []byte, off int64, read func([]byte, int64) (int, error)) (int, error) {
			if off%int64(small.Stride) == 8192 {
				return 0, syscall.EIO
			}
			return read(p, off)
		}}
	}
	s := newStreamer(t, d, Options{Slots: 2, Reads: 1, Poison: true})
	s.piece = 4096
	f := mustFetch(t, s, 3)
	defer f.Close()
	_, _, err := f.Next(ctx)
	const want = "layer 0: read expert 3: got 0 of 4096 bytes at offset 335872: "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if st := s.Stats(); st.Bytes != 8192 || st.Reads != 0 {
		t.Errorf("%+v, want two pieces and no read", st)
	}
}
