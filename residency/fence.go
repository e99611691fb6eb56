package residency

// A Fence is a promise of queued work to be done with some bytes.
type Fence interface {
	// Passed reports without waiting whether the work is done.
	Passed() bool
	// Wait returns when the work is done.
	Wait()
}
