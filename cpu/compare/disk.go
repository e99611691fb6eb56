//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropCached takes a file, or every file of a folder, out of the page cache. Pages that a process has mapped stay.
func dropCached(path string) error {
	return filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("drop %s from the page cache: %w", name, err)
		}
		return nil
	})
}

// setReadAhead changes how many KiB the disk that holds path reads ahead. restore sets the old number again.
func setReadAhead(path string, kib int) (restore func(), err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, fmt.Errorf("read-ahead: %s: %w", path, err)
	}
	device := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	if _, err := os.Stat(device + "/partition"); err == nil {
		device += "/.."
	}
	setting := device + "/queue/read_ahead_kb"
	old, err := os.ReadFile(setting)
	if err != nil {
		return nil, fmt.Errorf("read-ahead: %w", err)
	}
	if err := os.WriteFile(setting, []byte(strconv.Itoa(kib)), 0o644); err != nil {
		return nil, fmt.Errorf("read-ahead: %w", err)
	}
	return func() {
		if err := os.WriteFile(setting, []byte(strings.TrimSpace(string(old))), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "compare: %s was %s: %v\n", setting, old, err)
		}
	}, nil
}
