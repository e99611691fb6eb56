package harness

import (
	"strings"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Misuse is a kernel of misuse.metal with what the checked emulator must say, one of several. A race shows as a read of
// uninitialised memory when the lanes happen to run the other way round.
type Misuse struct {
	Kernel   string
	Messages []string
}

// Misuses lists them all.
var Misuses = []Misuse{
	{"race_threadgroup", []string{"data race", "uninitialised"}},
	{"race_wrong_flags", []string{"data race"}},
	{"race_simdgroup_barrier", []string{"data race", "uninitialised"}},
	{"race_device", []string{"data race"}},
	{"race_groups", []string{"of another threadgroup"}},
	{"race_groups_read", []string{"of another threadgroup"}},
	{"barrier_divergent", []string{"divergent barrier"}},
	{"barrier_after_return", []string{"divergent barrier"}},
	{"out_of_bounds_write", []string{"out of bounds"}},
	{"out_of_bounds_read", []string{"out of bounds"}},
	{"out_of_bounds_threadgroup", []string{"threadgroup memory out of bounds"}},
	{"uninitialised", []string{"uninitialised threadgroup memory"}},
	{"misaligned", []string{"misaligned"}},
	{"simd_divergent", []string{"divergent"}},
}

// RunMisuse dispatches one of them: one or two groups of 64 threads on a buffer of 64 floats.
func RunMisuse(r *Run, kernel string) error {
	j := r.start("misuse")
	defer j.done()
	groups := 1
	if strings.HasPrefix(kernel, "race_groups") {
		groups = 2
	}
	bindings := []binding{buf(0, j.buffer(64*4))}
	if kernel == "out_of_bounds_threadgroup" {
		bindings = append(bindings, threadgroup(0, 256))
	}
	j.dispatch(nil, kernel, driver.D1(64*groups), driver.D1(64), bindings...)
	return j.err
}
