package residency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/pages"
)

var ctx = context.Background()

// sweep fetches and gives everything back at once; it returns the order of arrival.
func sweep(t testing.TB, s *Streamer, l gturbo.LayerID, experts []gturbo.ExpertID) []Loaded {
	t.Helper()
	f, err := s.Fetch(ctx, l, experts)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []Loaded
	for {
		x, ok, err := f.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return got
		}
		checkBytes(t, l, x.Expert, x.Bytes)
		got = append(got, x)
		f.Done(x, nil)
	}
}

func ids(got []Loaded) []gturbo.ExpertID {
	var out []gturbo.ExpertID
	for _, x := range got {
		out = append(out, x.Expert)
	}
	return out
}

func TestEachExpertArrivesOnceWithItsOwnBytes(t *testing.T) {
	for name, opts := range map[string]Options{
		"2 slots": {Slots: 2}, "8 slots, one read": {Slots: 8, Reads: 1}, "defaults": {},
		"all resident": {Slots: 24, Reads: 8}, "more slots than experts": {Slots: 128}, "LRU": {Policy: LRU},
		"mapped": {Mapped: true}, "poisoned": {Slots: 4, Poison: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, small)
			s := newStreamer(t, d, opts)
			for round, experts := range [][]gturbo.ExpertID{
				nil, span(5, 6), span(0, 8), {7, 3, 23, 11}, span(0, 16), span(3, 20), span(0, 24), span(0, 24), {1},
			} {
				for l := range gturbo.LayerID(small.Layers) {
					got := ids(sweep(t, s, l, experts))
					want := slices.Clone(experts)
					slices.Sort(got)
					slices.Sort(want)
					if !slices.Equal(got, want) {
						t.Errorf("round %d layer %d: got %v, want %v", round, l, got, want)
					}
				}
			}
			st := s.Stats()
			if want := int64(small.Layers * (0 + 1 + 8 + 4 + 16 + 17 + 24 + 24 + 1)); st.Hits+st.Joined+st.Misses != want {
				t.Errorf("hits %d, joined %d, misses %d: want %d together", st.Hits, st.Joined, st.Misses, want)
			}
			if st.Bytes != st.Misses*int64(small.Stride) {
				t.Errorf("%d bytes for %d misses of %d", st.Bytes, st.Misses, small.Stride)
			}
		})
	}
}

func TestUncachedReadsOrTheReasonWhyNot(t *testing.T) {
	d := newDisk(t, small)
	s := newStreamer(t, d, Options{Slots: 4, Uncached: true})
	f, err := s.Fetch(ctx, 0, span(0, 1))
	if errors.Is(err, ErrUncached) {
		if !errors.Is(err, ErrOpen) {
			t.Errorf("%v does not wrap ErrOpen", err)
		}
		return // this file system cannot
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	sweep(t, s, 0, span(0, 24))
	sweep(t, s, 1, span(3, 20))
}

func TestHitsComeFirstInTheOrderAskedFor(t *testing.T) {
	d := newDisk(t, small)
	s := newStreamer(t, d, Options{Slots: 8})
	sweep(t, s, 0, span(0, 4))
	got := sweep(t, s, 0, []gturbo.ExpertID{9, 2, 8, 0, 3})
	if !slices.Equal(ids(got)[:3], []gturbo.ExpertID{2, 0, 3}) || !got[2].Hit || got[3].Hit || got[4].Hit {
		t.Errorf("order %v, hits %v %v %v", ids(got), got[2].Hit, got[3].Hit, got[4].Hit)
	}
}

func TestPolicyReplaysTheTraceOfAnotherProgram(t *testing.T) {
	var trace struct {
		Experts int
		Steps   [][]gturbo.ExpertID
		Runs    []struct {
			Slots    int
			Policy   string
			Misses   []int64
			Resident []gturbo.ExpertID
		}
	}
	b, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &trace); err != nil {
		t.Fatal(err)
	}
	d := newDisk(t, Dims{Layers: 1, Experts: trace.Experts, Stride: strideAlign})
	for _, run := range trace.Runs {
		t.Run(fmt.Sprintf("%s %d slots", run.Policy, run.Slots), func(t *testing.T) {
			policy := map[string]Policy{LFU.String(): LFU, LRU.String(): LRU}[run.Policy]
			s := newStreamer(t, d, Options{Slots: run.Slots, Policy: policy})
			for step, choice := range trace.Steps {
				before := s.Stats()
				sweep(t, s, 0, choice)
				if got := s.Stats().Sub(before).Misses; got != run.Misses[step] {
					t.Fatalf("step %d: %d misses, want %d", step, got, run.Misses[step])
				}
			}
			var resident []gturbo.ExpertID
			for e, at := range s.layers[0].where {
				if at != none {
					resident = append(resident, gturbo.ExpertID(e))
				}
			}
			if !slices.Equal(resident, run.Resident) {
				t.Errorf("resident %v, want %v", resident, run.Resident)
			}
		})
	}
}

func TestReleaseGivesAllBackAndKeepsCounts(t *testing.T) {
	for name, opts := range map[string]Options{"slots": {Slots: 4}, "mapped": {Mapped: true}} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, small)
			if !opts.Mapped {
				d.wrap = plainFile
			}
			s := newStreamer(t, d, opts)
			before := pages.Outstanding()
			if n := s.Stats().OpenLayers; n != 0 {
				t.Errorf("%d layers open before the first fetch", n)
			}
			sweep(t, s, 0, []gturbo.ExpertID{1, 2})
			sweep(t, s, 0, []gturbo.ExpertID{1, 3})
			sweep(t, s, 2, []gturbo.ExpertID{5})
			if n := s.Stats().OpenLayers; n != 2 || pages.Outstanding() != before+2 {
				t.Errorf("%d layers open, %d regions; want 2 of each", n, pages.Outstanding()-before)
			}
			want := s.Stats()
			want.OpenLayers = 0
			for range 2 {
				if err := s.Release(); err != nil {
					t.Fatal(err)
				}
			}
			got := s.Stats()
			got.BusyTime, want.BusyTime = 0, 0 // the last reader may have ended after want was taken
			if got != want {
				t.Errorf("after release: %+v, want %+v", got, want)
			}
			if open, _, _ := d.counts(); pages.Outstanding() != before || !opts.Mapped && open != 0 {
				t.Errorf("%d regions and %d files left", pages.Outstanding()-before, open)
			}
			if got := s.layers[0].history.count[1]; got != 2 {
				t.Errorf("expert 1 has %d uses after release, want 2", got)
			}
			sweep(t, s, 0, []gturbo.ExpertID{1, 2})
			if got := s.Stats().Misses - want.Misses; got != 2 {
				t.Errorf("%d misses after release, want 2", got)
			}
		})
	}
}

func TestBrokenPromisesPanic(t *testing.T) {
	d := newDisk(t, small)
	s := newStreamer(t, d, Options{Slots: 4})
	mustPanic := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s did not panic", what)
			}
		}()
		f()
	}
	mustPanic("a duplicate in a choice", func() { s.Fetch(ctx, 0, []gturbo.ExpertID{1, 2, 1}) })
	f, err := s.Fetch(ctx, 0, span(0, 2))
	if err != nil {
		t.Fatal(err)
	}
	mustPanic("Release under a fetch", func() { s.Release() })
	x, _, err := f.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f.Done(x, nil)
	mustPanic("a second Done", func() { f.Done(x, nil) })
	f.Close()
	f.Close()
	mustPanic("Next after Close", func() { f.Next(ctx) })
}

func TestOptionsReportAllProblems(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Error(err)
	}
	err := Options{Slots: 1, Policy: 9, Reads: -1, Mapped: true, Uncached: true}.Validate()
	if !errors.Is(err, ErrOptions) {
		t.Fatalf("%v does not wrap ErrOptions", err)
	}
	if list := err.(interface{ Unwrap() []error }).Unwrap(); len(list) != 4 {
		t.Errorf("%d problems reported, want 4: %v", len(list), err)
	}
	for _, dims := range []Dims{{}, {1, 1, 100}, {1, 0, 16384}, {0, 1, 16384}} {
		if _, err := NewStreamer(&disk{}, dims, Options{}); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v, want ErrOptions", dims, err)
		}
	}
}

func TestClosedStreamerRefuses(t *testing.T) {
	d := newDisk(t, small)
	s := newStreamer(t, d, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(ctx, 0, span(0, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
	s.Prefetch(0, span(0, 1))
	if n := s.Stats().OpenLayers; n != 0 {
		t.Errorf("%d layers open", n)
	}
}

// What a layer costs when nothing must be read.
func BenchmarkFetchHits(b *testing.B) {
	d := &disk{dims: small, dir: b.TempDir()}
	if err := os.WriteFile(d.path(0), make([]byte, small.Experts*small.Stride), 0o600); err != nil {
		b.Fatal(err)
	}
	s, err := NewStreamer(d, small, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	experts := span(0, 8)
	b.ReportAllocs()
	for b.Loop() {
		f, err := s.Fetch(ctx, 0, experts)
		if err != nil {
			b.Fatal(err)
		}
		for range experts {
			x, _, err := f.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			f.Done(x, nil)
		}
		f.Close()
	}
}
