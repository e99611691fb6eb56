package residency

import (
	"os"

	"golang.org/x/sys/unix"
)

// setUncached makes f's reads bypass the page cache and returns the file to read from. Offsets, sizes and addresses
// must be multiples of the disk's block from then on.
func setUncached(f *os.File) (*os.File, error) {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags|unix.O_DIRECT)
	}
	return f, err
}

// dropCached asks the system to forget what it caches of a range, so that the next read meets the disk.
func dropCached(f *os.File, offset, length int64) {
	_ = unix.Fadvise(int(f.Fd()), offset, length, unix.FADV_DONTNEED)
}
