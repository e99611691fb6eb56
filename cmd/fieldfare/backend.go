package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/metal"
	"github.com/fieldfare/fieldfare/metal/driver"
)

// pickBackend returns what --backend asks for. A GPU that cannot be used is an error for metal; for auto the CPU takes
// over, and f.notice says why unless there simply is no such GPU.
func (f *modelFlags) pickBackend(onCPU *cpu.Backend) (core.Backend, error) {
	if f.tensors {
		f.notice = "--metal-tensors changes nothing: the CPU computes"
	}
	switch f.backend {
	case "cpu", "":
		return onCPU, nil
	case "metal", "auto":
	default:
		return onCPU, misuse("--backend is metal, cpu or auto, not %q", f.backend)
	}
	if f.gpu != nil {
		return f.gpu, nil
	}
	g, err := openGPU(context.Background(), metal.Options{TensorText: f.tensors})
	var checked *metal.SelfCheck
	if err == nil {
		checked, err = g.check(false)
	}
	switch {
	case err == nil:
		f.gpu, f.notice = g.backend, ""
		if f.tensors && checked.TensorsOff != "" {
			f.notice = "--metal-tensors changes nothing: " + checked.TensorsOff
		}
		return f.gpu, nil
	case f.backend == "metal":
		return onCPU, err
	case !errors.Is(err, driver.ErrUnavailable):
		f.notice = fmt.Sprintf("%v: the CPU computes instead (\"fieldfare doctor --metal\" says more)", err)
	}
	return onCPU, nil
}

// A gpu is an opened device with its backend. It stays open until the process ends.
type gpu struct {
	ctx     context.Context
	device  driver.Device
	system  string // version of the operating system
	backend *metal.Backend
}

// openGPU opens the system's GPU. Without one the error wraps driver.ErrUnavailable.
func openGPU(ctx context.Context, o metal.Options) (*gpu, error) {
	device, system, err := openDevice()
	if err != nil {
		return nil, err
	}
	b, err := metal.New(device, o)
	if err != nil {
		return nil, err
	}
	return &gpu{ctx, device, system, b}, nil
}

// check returns the device's self-check, which runs on the first start after an update of program or system, or again.
// Kernels that are wrong are an error that wraps metal.ErrKernel.
func (g *gpu) check(again bool) (*metal.SelfCheck, error) {
	o := metal.SelfCheckOptions{System: g.system, Build: build(), Again: again}
	if cache, err := os.UserCacheDir(); err == nil {
		o.File = filepath.Join(cache, "fieldfare", "metal-check.json")
	}
	s, err := g.backend.SelfCheck(g.ctx, o)
	if err != nil {
		return nil, err
	}
	return s, s.Err()
}

// build names this program: its version and, because development builds share theirs, its file.
func build() string {
	name := version()
	path, err := os.Executable()
	if err != nil {
		return name
	}
	if info, err := os.Stat(path); err == nil {
		name += fmt.Sprintf(" %d %s", info.Size(), info.ModTime().UTC().Format("2006-01-02T15:04:05"))
	}
	return name
}
