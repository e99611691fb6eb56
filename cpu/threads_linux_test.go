package cpu

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDefaultThreadsFollowTheAffinity starts itself on one processor of those that it has.
func TestDefaultThreadsFollowTheAffinity(t *testing.T) {
	const tell = "TELL_DEFAULT_THREADS"
	if os.Getenv(tell) != "" {
		b, err := New(Options{})
		must(t, err)
		fmt.Println("threads:", b.Threads())
		return
	}
	if testing.Short() {
		t.Skip("an emulated process cannot start another")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), tell+"=1", "GOMAXPROCS=")
	onOneProcessor(t, func() {
		out, err := cmd.Output()
		must(t, err)
		var threads int
		if _, err := fmt.Sscanf(string(out), "threads: %d", &threads); err != nil || threads != 1 {
			t.Errorf("%d threads on one processor (%v): %s", threads, err, out)
		}
	})
}

// onOneProcessor runs f on a thread bound to one processor, which the processes that f starts inherit.
func onOneProcessor(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &all))
	for i := 0; one.Count() == 0; i++ {
		if all.IsSet(i) {
			one.Set(i)
		}
	}
	must(t, unix.SchedSetaffinity(0, &one))
	defer func() { must(t, unix.SchedSetaffinity(0, &all)) }()
	f()
}
