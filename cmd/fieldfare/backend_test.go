package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/standin"
)

// onStandin runs the program with a stand-in for the Mac's GPU and returns what it wrote.
func onStandin(t *testing.T, o standin.Options, spoil func(driver.Device) driver.Device, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	device := driver.Device(standin.ForTest(t, o))
	if spoil != nil {
		device = spoil(device)
	}
	was := openDevice
	openDevice = func() (driver.Device, string, error) { return device, "macOS 15.5", nil }
	t.Cleanup(func() { openDevice = was })
	var out, err bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &err}
	status = a.run(context.Background(), args)
	return out.String(), err.String(), status
}

// inTempCache gives the program a cache folder of its own, but not the stand-in, whose build takes a while.
func inTempCache(t *testing.T) string {
	t.Helper()
	standin.ForTest(t, standin.Options{})
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	return cache
}

func TestBothBackendsGiveTheSameAnswer(t *testing.T) {
	cache := inTempCache(t)
	ask := []string{"chat", "--quiet", "--temperature", "0", "--max-new", "12", "hello"}
	onCPU, _, status := onStandin(t, standin.Options{}, nil, append(ask, "--backend", "cpu")...)
	if status != 0 || onCPU == "" {
		t.Fatalf("on the CPU: status %d, %q", status, onCPU)
	}
	onGPU, stderr, status := onStandin(t, standin.Options{}, nil, append(ask, "--backend", "metal")...)
	if status != 0 || onGPU != onCPU {
		t.Errorf("on metal: status %d, %q, want %q; %s", status, onGPU, onCPU, stderr)
	}
	if _, err := os.Stat(filepath.Join(cache, "fieldfare", "metal-check.json")); err != nil {
		t.Errorf("no self-check is kept: %v", err)
	}
}

// A liar is a device whose kernel of one name does nothing.
type liar struct {
	driver.Device
	kernel, instead string
}

func (l liar) NewLibrary(source string, o driver.LibraryOptions) (driver.Library, error) {
	lib, err := l.Device.NewLibrary(source, o)
	return lyingLibrary{lib, l}, err
}

type lyingLibrary struct {
	driver.Library
	liar liar
}

func (l lyingLibrary) Pipeline(name string, constants ...driver.Constant) (driver.Pipeline, error) {
	if name == l.liar.kernel {
		name = l.liar.instead
	}
	return l.Library.Pipeline(name, constants...)
}

func TestAWrongKernelIsNamedAndTheCPUTakesOver(t *testing.T) {
	inTempCache(t)
	spoil := func(d driver.Device) driver.Device { return liar{d, "rmsnorm", "rmsnorm_add"} }
	ask := []string{"chat", "--temperature", "0", "--max-new", "12", "hello"}
	want, _, _ := onStandin(t, standin.Options{}, nil, append(ask, "--backend", "cpu")...)
	got, stderr, status := onStandin(t, standin.Options{}, spoil, ask...)
	if status != 0 || got != want {
		t.Errorf("status %d, answer %q, want %q", status, got, want)
	}
	if strings.Count(stderr, "the CPU computes instead") != 1 || !strings.Contains(stderr, "kernel failed its check: rmsnorm:") {
		t.Errorf("stderr says %q", stderr)
	}
	if _, stderr, status := onStandin(t, standin.Options{}, spoil, append(ask, "--backend", "metal")...); status != exitFailed ||
		!strings.Contains(stderr, "rmsnorm") {
		t.Errorf("--backend metal: status %d, %q", status, stderr)
	}
}

func TestAnOldGPUIsNamed(t *testing.T) {
	inTempCache(t)
	_, stderr, status := onStandin(t, standin.Options{AppleFamily: 6}, nil, "chat", "--backend", "metal", "hello")
	if status != exitFailed || !strings.Contains(stderr, "Apple6") || !strings.Contains(stderr, "M1") {
		t.Errorf("status %d, %q", status, stderr)
	}
}

func TestDoctorPrintsWhatAReportNeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: checks every kernel at full size")
	}
	inTempCache(t)
	out, stderr, status := onStandin(t, standin.Options{}, nil, "doctor", "--metal")
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, part := range []string{"macOS 15.5", "Apple8", "tensor operations: not used: ", "affine_int4_r8: off by",
		"new, as on the CPU", "picture: ", "at the dimensions of the 26B"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in the report", part)
		}
	}
	if strings.Contains(out, "NOT as on the CPU") {
		t.Error("an answer differs")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestTensorOperationsAreUsedForPromptsWhenAskedFor(t *testing.T) {
	inTempCache(t)
	m5 := standin.Options{AppleFamily: 10, Metal4: true}
	ask := []string{"chat", "--quiet", "--temperature", "0", "--max-new", "12", "--backend"}
	want, _, _ := onStandin(t, m5, nil, append(ask, "cpu", "hello")...)
	got, stderr, status := onStandin(t, m5, nil, append(ask, "metal", "--metal-tensors", "hello")...)
	if status != 0 || got != want || strings.Contains(stderr, "--metal-tensors") {
		t.Errorf("status %d, %q, want %q; %s", status, got, want, stderr)
	}
	for device, why := range map[standin.Options]string{{}: "no Metal 4", {AppleFamily: 9, Metal4: true}: "Apple9"} {
		_, stderr, status := onStandin(t, device, nil, append(ask, "metal", "--metal-tensors", "hello")...)
		if status != 0 || !strings.Contains(stderr, "--metal-tensors changes nothing") || !strings.Contains(stderr, why) {
			t.Errorf("%+v: status %d, %s", device, status, stderr)
		}
	}
}
