package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/mtl"
)

// openDevice opens the system's GPU and names the system: its version and build, the model of the Mac and its memory.
// Tests put a stand-in in its place.
var openDevice = func() (driver.Device, string, error) {
	d, err := mtl.Open(mtl.Options{})
	if err != nil {
		return nil, "", err
	}
	name := func(key string) string {
		s, err := unix.Sysctl(key)
		if err != nil {
			return "unknown"
		}
		return s
	}
	memory, _ := unix.SysctlUint64("hw.memsize") // 0 bytes in a report say that the system did not tell
	return d, fmt.Sprintf("macOS %s (%s), %s, %s of memory", name("kern.osproductversion"), name("kern.osversion"),
		name("hw.model"), size(int64(memory))), nil
}
