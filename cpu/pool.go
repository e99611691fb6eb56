package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A job is work that falls into independent tasks. task is called once for each index, on any worker, in any order;
// worker (0 to threads-1) names the private scratch that the call may use.
type job interface {
	task(worker, index int)
}

// spinTime is how long an idle worker looks for the next job before it sleeps: longer than the gaps between the jobs
// of one layer, far shorter than a read from disk.
const spinTime = 30 * time.Microsecond

// tasksPerYield is how many tasks are done between two looks for other goroutines, where every processor computes: one
// that comes back from a read starts the next read after microseconds, instead of the 10 ms that the scheduler would
// grant a long job.
const tasksPerYield = 8

// A pool runs jobs on its caller and threads-1 persistent goroutines. run is called from one goroutine at a time.
//
// Each worker has a segment of neighbouring tasks and takes them in order, so that what it asks of memory ahead of time
// is its own; then it helps with the other segments. A segment holds the jobs' counter in its high half and the number
// of unclaimed tasks in its low half. A claim is one compare-and-swap, so a worker that comes late to a finished job
// finds nothing and cannot touch the next one by mistake. current and count are written before the segments and only
// read after a claim.
type pool struct {
	threads int
	yields  bool // no processor is spared for other goroutines; where one is, yielding would wake it for nothing
	current job
	count   int

	segments []segment     // one a thread: tasks count*i/threads to count*(i+1)/threads
	jobs     atomic.Uint32 // begun so far
	done     atomic.Int64  // tasks of the current job that are finished
	sleepers atomic.Int64
	waiting  atomic.Bool   // the caller sleeps on finished
	wake     chan struct{} // a token wakes one sleeper
	finished chan struct{}
	closed   atomic.Bool
	workers  sync.WaitGroup
}

// A segment has a cache line of its own.
type segment struct {
	atomic.Uint64
	_ [56]byte
}

func newPool(threads int) *pool {
	p := &pool{
		threads: threads, yields: runtime.GOMAXPROCS(0) <= threads, segments: make([]segment, threads),
		wake: make(chan struct{}, threads), finished: make(chan struct{}, 1),
	}
	for w := 1; w < threads; w++ {
		p.workers.Go(func() { p.work(w) })
	}
	return p
}

// run calls j.task for 0 to count-1 and returns when all calls have returned. One task runs on the caller alone.
func (p *pool) run(j job, count int) {
	if count == 1 || p.threads == 1 {
		for i := range count {
			j.task(0, i)
		}
		return
	}
	if count == 0 {
		return
	}
	p.current, p.count = j, count
	p.done.Store(0)
	begun := p.jobs.Load() + 1
	for i := range p.segments {
		p.segments[i].Store(uint64(begun)<<32 | uint64(p.end(i)-p.end(i-1)))
	}
	p.jobs.Store(begun)
	for n := min(p.sleepers.Load(), int64(count-1)); n > 0; n-- {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	for p.step(0) {
	}
	p.await(int64(count))
}

// end is the first task after segment i.
func (p *pool) end(i int) int { return p.count * (i + 1) / p.threads }

// step claims and runs one task; false when none is left.
func (p *pool) step(worker int) bool {
	for i := range p.segments {
		at := (worker + i) % p.threads
		if left := p.segments[at].claim(); left > 0 {
			count := p.count
			p.current.task(worker, p.end(at)-left)
			if p.done.Add(1) == int64(count) && p.waiting.Swap(false) {
				p.finished <- struct{}{}
			}
			if p.yields && left%tasksPerYield == 0 {
				runtime.Gosched()
			}
			return true
		}
	}
	return false
}

// claim takes a task and returns how many were left before, 0 for none.
func (s *segment) claim() int {
	for {
		word := s.Load()
		if left := int(uint32(word)); left == 0 || s.CompareAndSwap(word, word-1) {
			return left
		}
	}
}

// await returns when count tasks are done.
func (p *pool) await(count int64) {
	if p.spin(func() bool { return p.done.Load() == count }) {
		return
	}
	p.waiting.Store(true)
	if p.done.Load() == count && p.waiting.Swap(false) {
		return // nobody saw the flag
	}
	<-p.finished
}

func (p *pool) work(worker int) {
	for !p.closed.Load() {
		seen := p.jobs.Load()
		if p.step(worker) {
			continue
		}
		available := func() bool { return p.jobs.Load() != seen || p.closed.Load() }
		if p.spin(available) {
			continue
		}
		p.sleepers.Add(1)
		if !available() {
			<-p.wake
		}
		p.sleepers.Add(-1)
	}
}

// spin polls ready for up to spinTime. A goroutine that comes back from a read must not wait for a processor that only
// polls.
func (p *pool) spin(ready func() bool) bool {
	start := time.Now()
	for {
		for range 64 {
			if ready() {
				return true
			}
		}
		if p.yields {
			runtime.Gosched()
		}
		if time.Since(start) > spinTime {
			return false
		}
	}
}

// close ends the workers. No run may be in progress.
func (p *pool) close() {
	p.closed.Store(true)
	for range p.threads {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	p.workers.Wait()
}
