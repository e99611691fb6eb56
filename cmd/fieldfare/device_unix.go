//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// deviceOf names the device that holds a file.
func deviceOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("%s: the system names no device", path)
	}
	return fmt.Sprintf("%x", uint64(st.Dev)), nil
}
