package metal

import (
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/residency"
)

// A ticket stands for a committed command buffer until it is over. Its methods may be called from any goroutine.
type ticket struct {
	mu   sync.RWMutex // held for reading while cb is used
	cb   driver.CommandBuffer
	err  error         // set with cb == nil
	took time.Duration // the same
}

var _ residency.Fence = (*ticket)(nil)

// Passed reports without waiting whether the work is over.
func (t *ticket) Passed() bool {
	t.mu.RLock()
	over := t.cb == nil || t.cb.Passed()
	t.mu.RUnlock()
	if over {
		t.finish()
	}
	return over
}

// Wait returns when the work is over.
func (t *ticket) Wait() {
	t.mu.RLock()
	if t.cb != nil {
		t.cb.Wait() // finish asks for the error again
	}
	t.mu.RUnlock()
	t.finish()
}

// finish takes error and times of work that is over, once, and gives the command buffer back.
func (t *ticket) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cb == nil {
		return
	}
	t.err = t.cb.Wait()
	start, end := t.cb.Times()
	t.took = end - start
	t.cb.Free()
	t.cb = nil
}
