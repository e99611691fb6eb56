//go:build unix

package residency

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the processor time that this process has used, user and system.
func processTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
