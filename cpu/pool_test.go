package cpu

import (
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
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(threads)
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
