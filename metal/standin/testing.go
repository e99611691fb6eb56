package standin

import (
	"errors"
	"os"
	"testing"

	"github.com/fieldfare/fieldfare/metal/msl"
	"github.com/fieldfare/fieldfare/metal/mtl"
)

// ForTest opens a device and closes it when the test ends. The test is skipped where the stand-in cannot run; without a
// compiler on Linux it fails when CI is true, and is skipped elsewhere.
func ForTest(t testing.TB, o Options) *mtl.Device {
	t.Helper()
	d, err := Open(o)
	if errors.Is(err, ErrNotLinux) || errors.Is(err, msl.ErrNoCompiler) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
