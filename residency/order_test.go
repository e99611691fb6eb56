package residency

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// manual is a Fence that the test lets pass.
type manual chan struct{}

func (m manual) Passed() bool {
	select {
	case <-m:
		return true
	default:
		return false
	}
}
func (m manual) Wait() { <-m }

// gated makes a streamer on one gated layer file.
func gated(t *testing.T, opts Options) (*Streamer, *disk, *gate) {
	d := newDisk(t, Dims{Layers: 1, Experts: 24, Stride: strideAlign})
	g := newGate(nil)
	d.wrap = func(_ gturbo.LayerID, f File) File { g.File = f; return g }
	s := newStreamer(t, d, opts)
	t.Cleanup(func() { close(g.pass) }) // before the streamer's own cleanup, which waits for reads
	return s, d, g
}

// began returns the expert of the next read that begins.
func (d *disk) began(t *testing.T, g *gate) gturbo.ExpertID {
	t.Helper()
	select {
	case off := <-g.began:
		return gturbo.ExpertID(d.dims.Experts - 1 - int(off)/d.dims.Stride)
	case <-time.After(5 * time.Second):
		t.Fatal("no read began")
		return 0
	}
}

func noneBegan(t *testing.T, g *gate) {
	t.Helper()
	select {
	case off := <-g.began:
		t.Fatalf("a read at offset %d began", off)
	case <-time.After(20 * time.Millisecond):
	}
}

func mustFetch(t *testing.T, s *Streamer, experts ...gturbo.ExpertID) *Fetch {
	t.Helper()
	f, err := s.Fetch(ctx, 0, experts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustNext(t *testing.T, f *Fetch) Loaded {
	t.Helper()
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	x, ok, err := f.Next(short)
	if err != nil || !ok {
		t.Fatalf("Next: %v, %v", ok, err)
	}
	checkBytes(t, f.l.id, x.Expert, x.Bytes)
	return x
}

func TestASlotIsNotFilledBeforeItsFencePasses(t *testing.T) {
	d := newDisk(t, Dims{Layers: 1, Experts: 24, Stride: strideAlign})
	s := newStreamer(t, d, Options{Slots: 2, Poison: true})
	f := mustFetch(t, s, 0, 1)
	fences := []manual{make(manual), make(manual)}
	var lent []Loaded
	for i := range 2 {
		lent = append(lent, mustNext(t, f))
		f.Done(lent[i], fences[i])
	}
	f.Close()

	g := mustFetch(t, s, 2)
	defer g.Close()
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if x, ok, err := g.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Next brought %v, %v, %v before any fence passed", x.Expert, ok, err)
	}
	for _, x := range lent {
		checkBytes(t, 0, x.Expert, x.Bytes)
	}
	close(fences[0]) // the work queued first ends first: its slot was chosen
	mustNext(t, g)
	checkBytes(t, 0, lent[1].Expert, lent[1].Bytes)
	close(fences[1])
}

func TestAFreeSlotIsPreferredToABusyOne(t *testing.T) {
	d := newDisk(t, Dims{Layers: 1, Experts: 24, Stride: strideAlign})
	s := newStreamer(t, d, Options{Slots: 2})
	sweep(t, s, 0, []gturbo.ExpertID{0})
	sweep(t, s, 0, []gturbo.ExpertID{0}) // LFU would keep 0
	f := mustFetch(t, s, 1)
	busy := make(manual)
	f.Done(mustNext(t, f), busy)
	f.Close()
	got := sweep(t, s, 0, []gturbo.ExpertID{2})
	if len(got) != 1 || s.layers[0].where[1] == none {
		t.Error("the busy slot was given away although another was free")
	}
	close(busy)
}

func TestTheNextTileIsReadUnderTheCurrentOnesWork(t *testing.T) {
	s, d, g := gated(t, Options{Slots: 3, Reads: 8})
	f := mustFetch(t, s, span(0, 7)...)
	defer f.Close()
	for e := range gturbo.ExpertID(3) {
		g.pass <- struct{}{}
		if got := d.began(t, g); got > 2 {
			t.Fatalf("read %d began with expert %d, want one of the first three", e, got)
		}
	}
	noneBegan(t, g)
	x, y := mustNext(t, f), mustNext(t, f)
	noneBegan(t, g)
	f.Done(x, nil)
	if got := d.began(t, g); got != 3 {
		t.Errorf("after the first Done expert %d is read, want 3", got)
	}
	f.Done(y, nil)
	if got := d.began(t, g); got != 4 {
		t.Errorf("after the second Done expert %d is read, want 4", got)
	}
}

func TestHoldingEverySlotIsAnErrorNotAHang(t *testing.T) {
	d := newDisk(t, small)
	s := newStreamer(t, d, Options{Slots: 3})
	f := mustFetch(t, s, span(0, 5)...)
	defer f.Close()
	for range 3 {
		mustNext(t, f)
	}
	if _, _, err := f.Next(ctx); !errors.Is(err, ErrNoSlot) {
		t.Errorf("%v, want ErrNoSlot", err)
	}
}

func TestTwoWantsMakeOneRead(t *testing.T) {
	s, d, g := gated(t, Options{Slots: 8})
	a := mustFetch(t, s, 4, 5)
	b := mustFetch(t, s, 5, 4)
	s.Prefetch(0, []gturbo.ExpertID{4, 5})
	defer b.Close()
	d.began(t, g)
	d.began(t, g)
	noneBegan(t, g)
	a.Close() // the reads go on for b
	g.pass <- struct{}{}
	g.pass <- struct{}{}
	for range 2 {
		b.Done(mustNext(t, b), nil)
	}
	if st := s.Stats(); st.Misses != 2 || st.Joined != 2 || st.Reads != 2 || st.Guesses != 0 {
		t.Errorf("%+v, want 2 misses, 2 joined, 2 reads, no guesses", st)
	}
}

func TestAClosedFetchGivesUpReadsThatHaveNotBegun(t *testing.T) {
	s, d, g := gated(t, Options{Slots: 8, Reads: 1})
	f := mustFetch(t, s, 1, 2, 3)
	d.began(t, g)
	f.Close()
	h := mustFetch(t, s, 7)
	defer h.Close()
	g.pass <- struct{}{}
	if got := d.began(t, g); got != 7 {
		t.Errorf("expert %d is read, want 7", got)
	}
	g.pass <- struct{}{}
	mustNext(t, h)
	if got := s.layers[0].where[1]; got == none {
		t.Error("the read that had begun was thrown away")
	}
}

func TestDemandsGoBeforeGuessesAndLateGuessesAreDropped(t *testing.T) {
	s, d, g := gated(t, Options{Slots: 8, Reads: 2})
	s.Prefetch(0, []gturbo.ExpertID{10, 11, 12, 13})
	if got := d.began(t, g); got != 10 {
		t.Fatalf("guess %d is read first, want 10", got)
	}
	noneBegan(t, g) // one of two reads stays free for demands
	f := mustFetch(t, s, 20, 12, 10)
	defer f.Close()
	if got := d.began(t, g); got != 20 {
		t.Errorf("expert %d is read, want the demand for 20", got)
	}
	for range 3 {
		g.pass <- struct{}{}
	}
	var got []gturbo.ExpertID
	for range 3 {
		x := mustNext(t, f)
		got = append(got, x.Expert)
		f.Done(x, nil)
	}
	slices.Sort(got)
	if !slices.Equal(got, []gturbo.ExpertID{10, 12, 20}) {
		t.Errorf("got %v", got)
	}
	if st := s.Stats(); st.Guesses != 1 || st.GuessesUsed != 1 || st.GuessesDropped != 3 || st.Reads != 3 {
		t.Errorf("%+v, want 1 guess started, 1 used, 3 dropped, 3 reads", st)
	}
}

func TestAGuessEvictsNoOtherGuess(t *testing.T) {
	d := newDisk(t, small)
	s := newStreamer(t, d, Options{Slots: 4, Reads: 1})
	sweep(t, s, 0, span(0, 4))
	s.Prefetch(0, []gturbo.ExpertID{9, 0, 1, 2, 8, 7})
	deadline := time.Now().Add(5 * time.Second)
	for st := s.Stats(); st.Reads < 5 || st.GuessesDropped < 2; st = s.Stats() {
		if time.Now().After(deadline) {
			t.Fatalf("%+v, want 5 reads and 2 guesses dropped", st)
		}
		time.Sleep(time.Millisecond)
	}
	for _, e := range []gturbo.ExpertID{9, 0, 1, 2} {
		if s.layers[0].where[e] == none {
			t.Errorf("expert %d is gone", e)
		}
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	s, d, g := gated(t, Options{Slots: 8})
	f := mustFetch(t, s, 1)
	d.began(t, g)
	canceled, cancel := context.WithCancel(ctx)
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, _, err := f.Next(canceled); err != context.Canceled {
		t.Errorf("%v, want context.Canceled as it is", err)
	}
	f.Close()
	if _, err := s.Fetch(canceled, 0, nil); err != context.Canceled {
		t.Errorf("%v, want context.Canceled as it is", err)
	}
}
