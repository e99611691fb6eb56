package residency

// A Fence is a promise of queued work to be done with some bytes. The work has been handed to the device when the
// fence is given away: it passes without a further call by whoever queued it. Both methods may be called from any
// goroutine, any number of times.
type Fence interface {
	// Passed reports without waiting whether the work is done.
	Passed() bool
	// Wait returns when the work is done.
	Wait()
}
