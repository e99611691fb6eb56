//go:build unix

package cpu

import (
	"os"

	"golang.org/x/sys/unix"
)

// guarded returns n bytes that end right before a page that may not be touched: a kernel that reads past the end of a
// tensor dies here instead of at a user's. The address has the parity of n. It lives
// until releaseGuarded, or as long as the tests, which are short.
func guarded(n int) []byte {
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	if err := unix.Mprotect(b[size:], unix.PROT_NONE); err != nil {
		panic(err)
	}
	guards = append(guards, b)
	return b[size-n : size : size]
}

var guards [][]byte

// releaseGuarded unmaps all that guarded has returned: a system allows some ten thousand mappings.
func releaseGuarded() {
	for _, b := range guards {
		if err := unix.Munmap(b); err != nil {
			panic(err)
		}
	}
	guards = nil
}
