//go:build unix

package pages

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// granularity is what offsets of file views must be a multiple of.
func granularity() int64 { return int64(os.Getpagesize()) }

// allocate maps size anonymous bytes, which begin at skip in whole. From hugePage bytes on, the address is made a
// multiple of hugePage; the few bytes around it are never touched and so cost nothing.
func allocate(size int) (whole []byte, skip int, err error) {
	huge := hugePage > 0 && size >= hugePage
	length := size
	if huge {
		length += hugePage
	}
	whole, err = unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil || !huge {
		return whole, 0, err
	}
	align := uintptr(hugePage)
	skip = int(-uintptr(unsafe.Pointer(unsafe.SliceData(whole))) & (align - 1))
	adviseHuge(whole[skip : skip+size&^(hugePage-1)])
	return whole, skip, nil
}

func view(f *os.File, offset int64, length int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), offset, length, unix.PROT_READ, unix.MAP_SHARED)
}

func release(whole []byte, _ bool) error { return unix.Munmap(whole) }

func advise(b []byte, a Advice) error {
	code := map[Advice]int{WillNeed: unix.MADV_WILLNEED, DontNeed: unix.MADV_DONTNEED, Random: unix.MADV_RANDOM}[a]
	return unix.Madvise(b, code)
}
