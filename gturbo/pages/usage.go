package pages

import (
	"maps"
	"sync"
)

var open = struct {
	sync.Mutex
	regions int
	bytes   map[string]int64
}{bytes: map[string]int64{}}

// account adds (sign +1) or removes (sign -1) a region.
func account(r *Region, sign int) {
	open.Lock()
	defer open.Unlock()
	open.regions += sign
	open.bytes[r.class] += int64(sign) * int64(len(r.bytes))
	if open.bytes[r.class] == 0 {
		delete(open.bytes, r.class)
	}
}

// Usage returns the bytes of all open regions by class. Anonymous memory counts in full, touched or not.
func Usage() map[string]int64 {
	open.Lock()
	defer open.Unlock()
	return maps.Clone(open.bytes)
}

// Outstanding returns the number of open regions; a test that starts and ends with the same number leaks none.
func Outstanding() int {
	open.Lock()
	defer open.Unlock()
	return open.regions
}
