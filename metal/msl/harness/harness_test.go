package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/msl/device"
)

// TestMain builds the sample kernels; MSL_CLANG names the compiler.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "msl")
	if err != nil {
		panic(err)
	}
	build = dir
	clang := os.Getenv("MSL_CLANG")
	if clang == "" {
		clang = "clang++-19"
	}
	sources, _ := filepath.Glob("../testdata/kernels/*.metal")
	cmd := exec.Command("go", append([]string{"run", "../mslgen", "-clang", clang, "-shim", "../shim", "-out", dir, "-build"}, sources...)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "mslgen:", err)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var build string

func runAll(t *testing.T, h *device.Host, scale Scale) {
	for _, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := c.Test(&Run{Device: h, Dir: build, Scale: scale, Seed: h.Seed})
			if err != nil {
				t.Fatal(err)
			}
			if !(r.Error <= r.Limit) {
				t.Fatalf("error %g is more than %g", r.Error, r.Limit)
			}
			t.Logf("error %.2e of %d values", r.Error, r.Checked)
		})
	}
}

// The fast emulator on sizes near the real ones.
func TestFast(t *testing.T) { runAll(t, device.OpenHost(), Small) }

// Every memory access checked, lanes in different orders.
func TestChecked(t *testing.T) {
	for i, order := range []device.Order{device.Forward, device.Reverse, device.Shuffle} {
		t.Run([]string{"forward", "reverse", "shuffle"}[i], func(t *testing.T) {
			h := device.OpenHost()
			h.Checked, h.Strict, h.Order, h.Seed = true, true, order, 42
			runAll(t, h, Tiny)
		})
	}
}

// Every deliberate mistake is found, and the message names it.
func TestMisuse(t *testing.T) {
	for _, m := range Misuses {
		t.Run(m.Kernel, func(t *testing.T) {
			for _, order := range []device.Order{device.Forward, device.Shuffle} {
				h := device.OpenHost()
				h.Checked, h.Strict, h.Order, h.Seed = true, true, order, 3
				err := RunMisuse(&Run{Device: h, Dir: build}, m.Kernel)
				found := false
				for _, want := range strings.Split(m.Message, "|") {
					found = found || err != nil && strings.Contains(err.Error(), want)
				}
				if !found {
					t.Fatalf("got %v, want a message with %q", err, m.Message)
				}
				t.Log(err)
			}
		})
	}
}
