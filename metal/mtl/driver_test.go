package mtl_test

import (
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/driver/drivertest"
	"github.com/fieldfare/fieldfare/metal/standin"
)

func TestDriver(t *testing.T) {
	for name, o := range map[string]standin.Options{
		"fast":    {},
		"checked": {Checked: true, Strict: true, Order: standin.Shuffle, Seed: 5},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, func(t testing.TB) driver.Device { return standin.ForTest(t, o) })
		})
	}
}
