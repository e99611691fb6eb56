//go:build unix && !linux

package pages

// hugePage is 0: macOS has no advice for huge pages on arm64, and 16 KiB base pages.
const hugePage = 0

func adviseHuge([]byte) {}
