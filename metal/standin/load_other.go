//go:build !linux

package standin

func openLibrary(string) (uintptr, error) { return 0, ErrNotLinux }
