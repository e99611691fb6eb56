package harness

import (
	"strings"

	"github.com/fieldfare/fieldfare/metal/msl/device"
)

// Misuse is a kernel of misuse.metal with the message (one of several) the checked
// emulator must give.  A race shows as a read of uninitialised memory when the lanes
// happen to run the other way round.
type Misuse struct{ Kernel, Message string }

// Misuses lists them all.
var Misuses = []Misuse{
	{"race_threadgroup", "data race|uninitialised"},
	{"race_wrong_flags", "data race"},
	{"race_simdgroup_barrier", "data race|uninitialised"},
	{"race_device", "data race"},
	{"race_groups", "of another threadgroup"},
	{"race_groups_read", "of another threadgroup"},
	{"barrier_divergent", "divergent barrier"},
	{"barrier_after_return", "divergent barrier"},
	{"out_of_bounds_write", "out of bounds"},
	{"out_of_bounds_read", "out of bounds"},
	{"out_of_bounds_threadgroup", "threadgroup memory out of bounds"},
	{"uninitialised", "uninitialised threadgroup memory"},
	{"misaligned", "misaligned"},
	{"simd_divergent", "divergent"},
}

// RunMisuse dispatches one of them: two groups of 64 threads on a buffer of 64 floats.
func RunMisuse(r *Run, kernel string) error {
	j := r.start("misuse", nil)
	defer j.done()
	out := j.buffer(64 * 4)
	groups := 1
	if strings.HasPrefix(kernel, "race_groups") {
		groups = 2
	}
	var bindings = []device.Binding{device.Buf(0, out)}
	if kernel == "out_of_bounds_threadgroup" {
		bindings = append(bindings, device.Threadgroup(0, 256))
	}
	j.dispatch(nil, kernel, device.D1(64*groups), device.D1(64), bindings...)
	return j.err
}
