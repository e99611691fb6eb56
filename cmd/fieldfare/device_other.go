//go:build !darwin

package main

import (
	"fmt"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// openDevice says that there is no GPU for this program. Tests put a stand-in in its place.
var openDevice = func() (driver.Device, string, error) {
	return nil, "", fmt.Errorf("metal: %w: it is part of macOS", driver.ErrUnavailable)
}
