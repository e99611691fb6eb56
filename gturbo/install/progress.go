package install

import (
	"sync"
	"time"
)

// Phase is a step of an install as a user would name it.
type Phase string

// The phases, in the order in which an install passes through them.
const (
	PhaseMetadata  Phase = "reading metadata"
	PhaseDisk      Phase = "checking disk"
	PhaseReserve   Phase = "reserving files"
	PhaseCheck     Phase = "checking what is already there"
	PhaseSideFiles Phase = "copying small files"
	PhaseCopy      Phase = "copying weights"
	PhaseHash      Phase = "hashing"
	PhaseFinish    Phase = "finishing"
	PhaseRepair    Phase = "repairing"
)

// Event is one report of progress. Total is 0 in phases that count nothing.
type Event struct {
	Phase     Phase
	File      string        // the file at hand, where there is one
	Done      int64         // bytes of the phase that are finished, those of earlier runs included
	Total     int64         // bytes of the phase
	Reused    int64         // bytes of Done that an earlier run had left
	Rate      float64       // bytes per second in this phase, 0 until known
	Remaining time.Duration // at this rate, 0 until known
}

// eventInterval is how often a phase that counts bytes reports at most.
const eventInterval = 100 * time.Millisecond

// meter turns byte counts from many goroutines into events, one at a time.
type meter struct {
	report func(Event)
	now    func() time.Time

	mu    sync.Mutex
	event Event
	began time.Time
	last  time.Time
}

func newMeter(report func(Event), now func() time.Time) *meter {
	if report == nil {
		report = func(Event) {}
	}
	return &meter{report: report, now: now}
}

// phase begins a phase and reports it at once.
func (m *meter) phase(p Phase, file string, total, reused int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began = m.now()
	m.last = m.began
	m.event = Event{Phase: p, File: file, Total: total, Done: reused, Reused: reused}
	m.report(m.event)
}

// add counts n more bytes of the phase.
func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.event.Done += n
	now := m.now()
	if now.Sub(m.last) < eventInterval && m.event.Done < m.event.Total {
		return
	}
	m.last = now
	m.estimate(now.Sub(m.began))
	m.report(m.event)
}

func (m *meter) estimate(elapsed time.Duration) {
	fresh := m.event.Done - m.event.Reused
	if elapsed <= 0 || fresh <= 0 {
		return
	}
	m.event.Rate = float64(fresh) / elapsed.Seconds()
	left := float64(m.event.Total-m.event.Done) / m.event.Rate
	m.event.Remaining = time.Duration(left * float64(time.Second))
}
