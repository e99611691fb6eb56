package standin

import "unsafe"

// The structs of framework/control.h.

type buildRequest struct {
	source  *byte
	version uint64
	macros  *byte
	checked uint64
	path    [1024]byte
	err     [16384]byte
}

type config struct {
	AppleFamily, Metal3, Metal4, MaxThreadgroupMemory, MaxThreads, MaxBuffer, WorkingSet, MemoryLimit uint64
	Checked, Order, Seed, Strict, Workers, Protect                                                    uint64
	Build, Line                                                                                       uintptr
}

type fault struct {
	Label                           [128]byte
	Skip, Count, DelayMicros, Error uint64
}

func abiSize() uint64 {
	return uint64(unsafe.Sizeof(config{}) + unsafe.Sizeof(fault{}) + unsafe.Sizeof(buildRequest{}))
}

// text reads a C string.
func text(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// put writes s as a C string, cut to fit.
func put(to []byte, s string) {
	n := copy(to[:len(to)-1], s)
	to[n] = 0
}
