package residency

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/gturbo/pages"
)

func TestProbeMeasuresEachWayAndLeavesNothing(t *testing.T) {
	d := newDisk(t, Dims{Layers: 1, Experts: 24, Stride: 4 * strideAlign})
	before, opened := pages.Outstanding(), 0
	open := func() (*os.File, error) {
		opened++
		return os.Open(d.path(0))
	}
	r, err := Probe(ctx, open, ProbeOptions{Block: d.dims.Stride, Budget: 80 * time.Millisecond, Depths: []int{1, 3}})
	if err != nil {
		t.Fatal(err)
	}
	want := 4
	if r.Refused != nil {
		if !errors.Is(r.Refused, ErrUncached) {
			t.Errorf("%v, want ErrUncached", r.Refused)
		}
		want = 2
	}
	if len(r.Rows) != want || opened != 2 || pages.Outstanding() != before {
		t.Errorf("%d rows, %d opened, %d regions left", len(r.Rows), opened, pages.Outstanding()-before)
	}
	for _, row := range r.Rows {
		if row.Rate <= 0 {
			t.Errorf("%+v: no rate", row)
		}
	}
	if r.Best.Rate <= 0 {
		t.Errorf("best %+v", r.Best)
	}
}

func TestProbeChoice(t *testing.T) {
	row := func(uncached bool, reads int, rate float64) ProbeRow {
		return ProbeRow{Uncached: uncached, Reads: reads, Rate: rate}
	}
	for name, c := range map[string]struct {
		rows []ProbeRow
		want ProbeRow
	}{
		"uncached although a little slower": {[]ProbeRow{row(true, 1, 92), row(false, 1, 100)}, row(true, 1, 92)},
		"buffered when clearly faster":      {[]ProbeRow{row(true, 1, 80), row(false, 1, 100)}, row(false, 1, 100)},
		"the fewest reads that saturate": {
			[]ProbeRow{row(true, 1, 60), row(true, 2, 97), row(true, 4, 100)}, row(true, 2, 97)},
		"buffered when nothing else is": {[]ProbeRow{row(false, 1, 60), row(false, 4, 100)}, row(false, 4, 100)},
	} {
		if got := choose(c.rows); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestProbeFailures(t *testing.T) {
	d := newDisk(t, Dims{Layers: 1, Experts: 2, Stride: strideAlign})
	open := func() (*os.File, error) { return os.Open(d.path(0)) }
	for _, block := range []int{0, 1000, 4 * strideAlign} {
		if _, err := Probe(ctx, open, ProbeOptions{Block: block}); !errors.Is(err, ErrOptions) {
			t.Errorf("block of %d bytes: %v, want ErrOptions", block, err)
		}
	}
	missing := errors.New("gone")
	_, err := Probe(ctx, func() (*os.File, error) { return nil, missing }, ProbeOptions{Block: strideAlign})
	if !errors.Is(err, missing) {
		t.Errorf("%v, want the error of open", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Probe(canceled, open, ProbeOptions{Block: strideAlign}); err != context.Canceled {
		t.Errorf("%v, want context.Canceled as it is", err)
	}
}
