package mtl_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is what this thread has used of a processor: other work on the machine does not count.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
