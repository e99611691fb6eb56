//go:build linux && amd64

package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Kinds of files, as stat has them.
const (
	directory = 0o040755
	program   = 0o100755
	device    = 0o020600
)

// writeInitrd writes a compressed cpio archive of files (name to path), the serial port and empty folders, in the format
// that the kernel documents in Documentation/driver-api/early-userspace/buffer-format.rst.
func writeInitrd(path string, files map[string]string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	a := archive{w: z}
	for _, name := range []string{"dev", "proc", "tmp"} {
		a.entry(name, directory, nil, 0, 0)
	}
	a.entry("dev/console", device, nil, 5, 1)
	a.entry("dev/null", device, nil, 1, 3)
	a.entry("dev/ttyS0", device, nil, 4, 64)
	for name, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		a.entry(name, program, data, 0, 0)
	}
	a.entry("TRAILER!!!", 0, nil, 0, 0)
	return firstError(a.err, z.Close())
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// An archive writes entries; the first error stays.
type archive struct {
	w     io.Writer
	count int
	err   error
}

// entry adds a file of a kind; major and minor name a device.
func (a *archive) entry(name string, mode int, data []byte, major, minor int) {
	a.count++
	fields := []int{a.count, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(name) + 1, 0}
	header := "070701"
	for _, v := range fields {
		header += fmt.Sprintf("%08X", v)
	}
	header += name + "\x00"
	a.write([]byte(header))
	a.write(data)
}

// write pads to four bytes, as headers and data are.
func (a *archive) write(b []byte) {
	for _, part := range [][]byte{b, make([]byte, -len(b)&3)} {
		if a.err == nil {
			_, a.err = a.w.Write(part)
		}
	}
}
