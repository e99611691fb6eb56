package main

import (
	"golang.org/x/sys/unix"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/mtl"
)

// openDevice opens the system's GPU and names the system. Tests put a stand-in in its place.
var openDevice = func() (driver.Device, string, error) {
	d, err := mtl.Open(mtl.Options{})
	if err != nil {
		return nil, "", err
	}
	system, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		system = "unknown"
	}
	return d, "macOS " + system, nil
}
