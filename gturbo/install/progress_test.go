package install

import (
	"fmt"
	"testing"
	"time"
)

func TestProgressIsMonotonicAndEndsAtTheTotal(t *testing.T) {
	r := newRig(t)
	o := r.options(newMemFS())
	at := time.Unix(0, 0)
	o.now = func() time.Time { at = at.Add(time.Second); return at }
	var events []Event
	o.Progress = func(e Event) { events = append(events, e) }
	if _, err := Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var phases []Phase
	var last Event
	for _, e := range events {
		if len(phases) == 0 || phases[len(phases)-1] != e.Phase {
			if last.Done != last.Total {
				t.Errorf("%s ended at %d of %d", last.Phase, last.Done, last.Total)
			}
			phases = append(phases, e.Phase)
		} else if e.File == last.File && e.Done < last.Done {
			t.Errorf("%s went from %d back to %d", e.Phase, last.Done, e.Done)
		}
		if e.Done > e.Total || e.Done > 0 && e.Done < e.Total && (e.Rate <= 0 || e.Remaining <= 0) {
			t.Errorf("%+v", e)
		}
		last = e
	}
	want := []Phase{
		PhaseMetadata, PhaseDisk, PhaseReserve, PhaseSideFiles, PhaseCopy, PhaseHash, PhaseFinish,
	}
	if fmt.Sprint(phases) != fmt.Sprint(want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
}

func TestRateAndRemainingTime(t *testing.T) {
	at := time.Unix(0, 0)
	var last Event
	m := newMeter(func(e Event) { last = e }, func() time.Time { return at })
	m.phase(PhaseCopy, "", 1000, 400)
	at = at.Add(2 * time.Second)
	m.add(200)
	if last.Done != 600 || last.Reused != 400 || last.Rate != 100 || last.Remaining != 4*time.Second {
		t.Errorf("%+v", last)
	}
	at = at.Add(eventInterval / 2)
	m.add(1)
	if last.Done != 600 {
		t.Error("reported too soon")
	}
	m.add(399)
	if last.Done != 1000 || last.Remaining != 0 {
		t.Errorf("the last event is %+v", last)
	}
}
