package residency

import (
	"errors"
	"fmt"
)

// Policy says which unpinned expert leaves its slot first.
type Policy int

const (
	// LFU evicts the expert used in the fewest fetches so far, the one unused for longest on a tie.
	LFU Policy = iota
	// LRU evicts the expert unused for longest.
	LRU
)

// String returns the name that flags and reports use.
func (p Policy) String() string {
	switch p {
	case LFU:
		return "lfu"
	case LRU:
		return "lru"
	}
	return fmt.Sprintf("policy %d", int(p))
}

// Options sizes and tunes a Streamer. The zero value is the default.
type Options struct {
	// Slots per layer, 2 to 128, default 16. More than the layer has experts is cut to that. Below the router's K
	// each choice is swept in tiles: slow, but right.
	Slots int
	// Policy of eviction, default LFU.
	Policy Policy
	// Reads is the most pieces of experts that are read at the same time, 1 to 64, default 4.
	Reads int
	// Uncached reads past the page cache (O_DIRECT, F_NOCACHE). Where the file system cannot, opening a layer fails
	// with ErrUncached: Probe finds out before.
	Uncached bool
	// Mapped maps whole layer files and hands out views of them: no slots, no reads. For machines that can keep all
	// experts in memory. Excludes Uncached.
	Mapped bool
	// Poison fills a slot with 0xff before it is read into again, so that a read too late is seen. For tests.
	Poison bool
}

const (
	defaultSlots = 16
	minSlots     = 2
	maxSlots     = 128
	defaultReads = 4
	maxReads     = 64
)

// Validate reports every field that is out of bounds; the error wraps ErrOptions.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(format+": %w", append(args, ErrOptions)...))
	}
	if o.Slots != 0 && (o.Slots < minSlots || o.Slots > maxSlots) {
		bad("slots per layer: %d, want %d to %d", o.Slots, minSlots, maxSlots)
	}
	if o.Policy != LFU && o.Policy != LRU {
		bad("eviction policy: %d, want LFU or LRU", int(o.Policy))
	}
	if o.Reads < 0 || o.Reads > maxReads {
		bad("reads in flight: %d, want 1 to %d", o.Reads, maxReads)
	}
	if o.Mapped && o.Uncached {
		bad("mapped files are never read uncached")
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults(experts int) Options {
	if o.Slots == 0 {
		o.Slots = defaultSlots
	}
	o.Slots = min(o.Slots, experts)
	if o.Reads == 0 {
		o.Reads = defaultReads
	}
	return o
}
