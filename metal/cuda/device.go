package cuda

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/msl"
)

// Options says how kernels are compiled. The zero value is fit for checks and timings.
type Options struct {
	// Cache is the folder of translations, for machines without clang; default: package msl's.
	Cache string
	// AppleFamily is what Info shall say, for backends that ask for one of Apple's families; default 8.
	AppleFamily int
	// LineInfo keeps the lines of the MSL for compute-sanitizer and profilers.
	LineInfo bool
}

// Device is the first GPU of the machine.
type Device struct {
	info     driver.Info
	arch     string
	lineInfo bool
	tools    *msl.Toolchain
	context  uintptr
	main     *worker
}

var _ driver.Device = (*Device)(nil)

// Open finds libcuda, libnvrtc and a GPU, or gives an error that wraps driver.ErrUnavailable.
func Open(o Options) (*Device, error) {
	for _, load := range []func() error{loadCUDA, loadNVRTC} {
		if err := load(); err != nil {
			return nil, fmt.Errorf("%w: %v", driver.ErrUnavailable, err)
		}
	}
	tools, err := msl.NewToolchain(msl.ToolchainOptions{Cache: o.Cache})
	if err != nil {
		return nil, err
	}
	d := &Device{tools: tools, lineInfo: o.LineInfo}
	var gpu, major, minor int32
	var memory uintptr
	name := make([]byte, 128)
	if err := check("open the first gpu", cu.DeviceGet(&gpu, 0), cu.DeviceGetName(&name[0], 128, gpu),
		cu.DeviceGetAttribute(&major, attributeMajor, gpu), cu.DeviceGetAttribute(&minor, attributeMinor, gpu),
		cu.DeviceTotalMem(&memory, gpu), cu.DevicePrimaryCtxRetain(&d.context, gpu)); err != nil {
		return nil, fmt.Errorf("%w: %v", driver.ErrUnavailable, err)
	}
	d.arch = fmt.Sprintf("sm_%d%d", major, minor)
	d.info = driver.Info{
		Name:                 strings.TrimRight(string(name), "\x00"),
		AppleFamily:          o.AppleFamily,
		Metal3:               true,
		MaxThreads:           1024,
		MaxThreadsAxis:       driver.D3(1024, 1024, 64),
		MaxThreadgroupMemory: 32768,
		MaxBuffer:            int64(memory),
		WorkingSet:           int64(memory),
		PageSize:             os.Getpagesize(),
	}
	if d.info.AppleFamily == 0 {
		d.info.AppleFamily = 8
	}
	d.main = d.newWorker()
	return d, nil
}

// Info describes the device.
func (d *Device) Info() driver.Info { return d.info }

// Close ends the device's goroutine. CUDA's context stays for the rest of the process.
func (d *Device) Close() error {
	d.main.stop()
	return nil
}

// A worker is a goroutine on one operating system thread, for which the GPU's context is current.
type worker struct{ work chan func() }

func (d *Device) newWorker() *worker {
	w := &worker{make(chan func(), 64)}
	go func() {
		runtime.LockOSThread()
		cu.CtxSetCurrent(d.context)
		for f := range w.work {
			f()
		}
	}()
	return w
}

func (w *worker) stop() { close(w.work) }

// do runs f on the worker and waits for it.
func (w *worker) do(f func() error) error {
	done := make(chan error)
	w.work <- func() { done <- f() }
	return <-done
}
