package residency

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ReadMemory asks the system. Available are pages that are free or that hold nothing but copies of files.
func ReadMemory() (Memory, error) {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return Memory{}, fmt.Errorf("read memory: hw.memsize: %w", err)
	}
	m := Memory{Total: int64(total)}
	for _, name := range []string{
		"vm.page_free_count", "vm.page_speculative_count", "vm.page_purgeable_count", "vm.page_pageable_external_count",
	} {
		n, err := unix.SysctlUint32(name)
		if err != nil {
			return Memory{}, fmt.Errorf("read memory: %s: %w", name, err)
		}
		m.Available += int64(n) * int64(os.Getpagesize())
	}
	m.Available = min(m.Available, m.Total)
	return m, nil
}
