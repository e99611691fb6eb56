package cuda_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/fieldfare/fieldfare/metal/cuda"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/driver/drivertest"
	"github.com/fieldfare/fieldfare/metal/msl"
	"github.com/fieldfare/fieldfare/metal/msl/harness"
)

// The machine with the GPU may have neither Go nor clang: README.md beside package msl says how the test binary and
// the translations get there.
var (
	translations = flag.String("translations", "", "folder of translations; default: the user's cache")
	lineInfo     = flag.Bool("lineinfo", false, "keep the lines of the MSL, for compute-sanitizer")
	tiny         = flag.Bool("tiny", false, "run the sample kernels at their smallest sizes")
)

func open(t testing.TB) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(cuda.Options{Cache: *translations, LineInfo: *lineInfo})
	if errors.Is(err, driver.ErrUnavailable) {
		t.Skip("needs an NVIDIA GPU: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestDriver(t *testing.T) {
	drivertest.Run(t, func(t testing.TB) driver.Device { return open(t) })
}

func TestSampleKernels(t *testing.T) {
	run := harness.Run{Device: open(t), Scale: harness.Full, Bench: 20, Seed: 1}
	if *tiny {
		run.Scale, run.Bench = harness.Tiny, 0
	}
	for _, c := range harness.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := c.Test(&run)
			if err == nil {
				err = r.Verdict()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("error %.2e of %d values, %.4g ms", r.Error, r.Checked, r.Seconds*1e3)
			if r.Seconds > 0 {
				t.Logf("%.4g GB/s, %.4g GFLOP/s", r.Bytes/r.Seconds/1e9, r.Flops/r.Seconds/1e9)
			}
		})
	}
}

func TestKernelsOfALibraryCompileAlone(t *testing.T) {
	d := open(t)
	l, err := d.NewLibrary(`#include <metal_stdlib>
using namespace metal;
kernel void one(device uint *out [[buffer(0)]]) { out[0] = 1; }
kernel void two(device uint *out [[buffer(0)]]) { out[0] = 2; }
`, driver.LibraryOptions{})
	if errors.Is(err, msl.ErrNoCompiler) {
		t.Skip("its source is translated nowhere else, and here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	for _, name := range l.Functions() {
		if _, err := l.Pipeline(name); err != nil {
			t.Error(err)
		}
	}
}
