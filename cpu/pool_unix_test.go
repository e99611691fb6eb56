//go:build unix

package cpu

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used of all processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var use unix.Rusage
	must(t, unix.Getrusage(unix.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// TestWaitingBurnsNoProcessor stands for a read from disk: workers and caller have nothing to do for a long time.
func TestWaitingBurnsNoProcessor(t *testing.T) {
	const threads, wait = 8, 200 * time.Millisecond
	p := newPool(threads)
	defer p.close()
	t.Run("between jobs", func(t *testing.T) {
		p.run(&countingJob{hits: make([]atomic.Int32, 99), workers: threads}, 99)
		before := processorTime(t)
		time.Sleep(wait)
		if used := processorTime(t) - before; used > wait/4 {
			t.Errorf("%v of processor time in %v", used, wait)
		}
	})
	t.Run("for the last task", func(t *testing.T) {
		before := processorTime(t)
		p.run(&countingJob{hits: make([]atomic.Int32, 2), workers: threads, slow: wait}, 2)
		if used := processorTime(t) - before; used > wait/4 {
			t.Errorf("%v of processor time in %v", used, wait)
		}
	})
}
