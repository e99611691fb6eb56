package pages

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// granularity is what offsets of file views must be a multiple of: the allocation granularity, 64 KiB on every
// Windows that Go runs on.
func granularity() int64 { return 64 << 10 }

// allocate reserves and commits size bytes. Large pages are left out: they need a privilege that users do not have.
func allocate(size int) (whole []byte, skip int, err error) {
	addr, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return nil, 0, err
	}
	return bytesAt(addr, size), 0, nil
}

// view maps a file; the mapping object may be closed at once, the view keeps it alive.
func view(f *os.File, offset int64, length int) ([]byte, error) {
	end := uint64(offset) + uint64(length)
	file := windows.Handle(f.Fd())
	h, err := windows.CreateFileMapping(file, nil, windows.PAGE_READONLY, uint32(end>>32), uint32(end), nil)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(h)
	addr, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, uint32(offset>>32), uint32(offset), uintptr(length))
	if err != nil {
		return nil, err
	}
	return bytesAt(addr, length), nil
}

func release(whole []byte, mapped bool) error {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	if mapped {
		return windows.UnmapViewOfFile(addr)
	}
	return windows.VirtualFree(addr, 0, windows.MEM_RELEASE)
}

// advise does nothing: Windows reads ahead by itself and has no advice worth a system call here.
func advise([]byte, Advice) error { return nil }

// bytesAt makes a slice of memory that the system mapped. The address is read through its own variable because vet
// takes any other conversion of a uintptr for a stale pointer into the Go heap.
func bytesAt(addr uintptr, size int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)
}
