package cpu

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type countingJob struct {
	hits    []atomic.Int32
	workers int
	slow    time.Duration
	bad     atomic.Bool
}

func (j *countingJob) task(worker, index int) {
	if worker < 0 || worker >= j.workers {
		j.bad.Store(true)
	}
	j.hits[index].Add(1)
	if j.slow > 0 {
		time.Sleep(j.slow)
	}
}

func TestEveryTaskRunsOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, c := range []struct{ threads, processors int }{{1, 1}, {2, 2}, {3, 2}, {8, 2}, {2, 4}, {3, 5}} {
		threads := c.threads
		runtime.GOMAXPROCS(c.processors) // more than threads: nobody yields
		p := newPool(threads)
		if want := c.processors <= threads; p.yields != want {
			t.Errorf("%d threads on %d processors: yields %v, want %v", threads, c.processors, p.yields, want)
		}
		for round := range 2000 {
			n := round % 23
			j := &countingJob{hits: make([]atomic.Int32, n), workers: threads}
			if round%500 == 499 {
				j.slow = 2 * spinTime // let the others fall asleep
			}
			p.run(j, n)
			for i := range j.hits {
				if got := j.hits[i].Load(); got != 1 || j.bad.Load() {
					t.Fatalf("%d threads, round %d: task %d ran %d times", threads, round, i, got)
				}
			}
		}
		p.close()
	}
}

// A meetingJob's tasks end when all of them have begun.
type meetingJob struct{ begun sync.WaitGroup }

func (j *meetingJob) task(_, _ int) {
	j.begun.Done()
	j.begun.Wait()
}

func TestAsManyTasksRunAtOnceAsThereAreThreads(t *testing.T) {
	const threads = 16
	p := newPool(threads)
	defer p.close()
	for range 20 {
		j := &meetingJob{}
		j.begun.Add(threads)
		p.run(j, threads) // does not return when a worker is missing
	}
}

func TestDefaultThreadsAreThoseOfTheRuntime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	b, err := New(Options{})
	must(t, err)
	if b.Threads() != 3 {
		t.Errorf("%d threads, GOMAXPROCS is 3", b.Threads())
	}
}

// The runtime counts the quota of the cgroup unless the build says otherwise, as a module of a version before 1.25 does.
func TestTheRuntimeCountsTheQuotaOfTheCgroup(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("the test binary has no build information")
	}
	for _, s := range info.Settings {
		if s.Key == "DefaultGODEBUG" && strings.Contains(s.Value, "containermaxprocs=0") {
			t.Errorf("built with %s", s.Value)
		}
	}
}

func TestIdleWorkersSleep(t *testing.T) {
	p := newPool(4)
	defer p.close()
	p.run(&countingJob{hits: make([]atomic.Int32, 9), workers: 4}, 9)
	for deadline := time.Now().Add(5 * time.Second); p.sleepers.Load() != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 3 workers sleep", p.sleepers.Load())
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	p := newPool(2)
	defer p.close()
	j := &countingJob{hits: make([]atomic.Int32, 9), workers: 2}
	if n := testing.AllocsPerRun(100, func() { p.run(j, 9) }); n != 0 {
		t.Fatalf("%g allocations per run", n)
	}
}
