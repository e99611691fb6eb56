//go:build unix

package drivertest

import "syscall"

// pages maps n bytes of memory that is not the Go heap's.
func pages(b *bench, n int) []byte {
	b.Helper()
	mem, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { syscall.Munmap(mem) })
	return mem
}
