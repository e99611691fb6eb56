package core

import (
	"sync"

	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/residency"
)

// Stats counts since Load; subtract two readings for the time between them.
type Stats struct {
	Stages StageTimes // as of the last finished forward pass
	Passes int64      // forward passes
	Rows   int64      // rows in them
	// Chosen are the experts that routers chose where the lookahead had a guess, Foretold those of them that it named.
	Chosen, Foretold int64
	// Experts are the streamer's counts.
	Experts residency.Stats
}

// Sub returns what happened between an earlier reading and s.
func (s Stats) Sub(earlier Stats) Stats {
	s.Stages = s.Stages.Sub(earlier.Stages)
	s.Passes -= earlier.Passes
	s.Rows -= earlier.Rows
	s.Chosen -= earlier.Chosen
	s.Foretold -= earlier.Foretold
	s.Experts = s.Experts.Sub(earlier.Experts)
	return s
}

// Stats may be called from any goroutine at any time.
func (r *Runtime) Stats() Stats {
	s := r.prog.published.load()
	s.Experts = r.streamer.Stats()
	return s
}

// Experts returns the streamer's options in effect.
func (r *Runtime) Experts() residency.Options { return r.streamer.Options() }

// Memory returns the bytes outside the Go heap by class, for the whole process: mapped weights, expert slots, caches,
// saved rows, the backend's scratch. Any goroutine, any time.
func (r *Runtime) Memory() map[string]int64 { return pages.Usage() }

// published is the part of Stats that the program hands to other goroutines after each pass.
type published struct {
	mu    sync.Mutex
	stats Stats
}

func (p *published) store(t StageTimes, a *lookahead, rows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Stages = t
	p.stats.Passes++
	p.stats.Rows += int64(rows)
	p.stats.Chosen, p.stats.Foretold = a.chosen, a.right
}

func (p *published) load() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}
