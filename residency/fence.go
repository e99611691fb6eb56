package residency

// A Fence is a promise of queued work to be done with some bytes. The work has been handed to the device when the
// fence is given away, or is with the next expert of the same layer if that is ready (Fetch.Ready): it passes without
// waiting for a read. Both methods may be called from any goroutine, any number of times.
type Fence interface {
	// Passed reports without waiting whether the work is done.
	Passed() bool
	// Wait returns when the work is done.
	Wait()
}
