package install

import "testing"

// Roles lets tests of other packages add what a started test binary may be.
var Roles = roles

// StartRole starts this test binary in a role and returns the first line that it prints.
func StartRole(t testing.TB, role, arg string) string { return startRole(t, role, arg) }

// WatchHeap samples the heap until the returned function is called, which gives the largest size.
func WatchHeap() (peak func() uint64) { return watchHeap() }
