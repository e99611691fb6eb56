// Package drivertest holds one suite for every implementation of package driver. It knows the interface and small
// kernels of its own, no implementation. Start reading at Run.
package drivertest

import (
	_ "embed"
	"encoding/binary"
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
)

//go:embed kernels.metal
var kernels string

// Run holds the devices that open gives to the contract of package driver. open is called once per test, which closes
// the device unless open does.
func Run(t *testing.T, open func(testing.TB) driver.Device) {
	for _, c := range []struct {
		name string
		test func(*bench)
	}{
		{"device info is filled in", infoIsFilledIn},
		{"buffers are zeroed and keep their bytes", buffersKeepBytes},
		{"buffers of no bytes or too many are refused", badSizesAreRefused},
		{"wrapped memory is read in place", wrappedMemoryIsRead},
		{"memory that is not whole pages is not wrapped", oddMemoryIsRefused},
		{"a compile error names file and line", compileErrorNamesLine},
		{"macros and language version reach the compiler", macrosReachCompiler},
		{"a missing kernel is an error", missingKernel},
		{"function constants of every kind reach the kernel", constantsReachKernel},
		{"a pipeline tells its limits", pipelineLimits},
		{"grids need not fill their threadgroups", partialThreadgroups},
		{"bound bytes are copied when they are bound", bytesAreCopied},
		{"offsets move the binding", offsetsMoveBinding},
		{"settings stay for the next dispatch", settingsStay},
		{"threadgroup memory is as long as asked for", threadgroupMemory},
		{"serial dispatches see each other's writes", serialOrder},
		{"a barrier orders concurrent dispatches", barrierOrders},
		{"command buffers run in the order of commits", commitOrder},
		{"copies and fills", blits},
		{"a freed buffer lives on in queued work", freedBufferLivesOn},
		{"the GPU waits for the CPU's event", gpuWaits},
		{"the GPU's event is seen by the CPU", gpuSignals},
		{"a command buffer passes once and tells its times", timesAreTold},
		{"a command buffer may be dropped", droppedCommandBuffer},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(newBench(t, open(t))) })
	}
}

// A bench is a device with what most tests need; it gives everything back when the test ends.
type bench struct {
	testing.TB
	device driver.Device
	queue  driver.Queue
}

func newBench(t testing.TB, d driver.Device) *bench {
	b := &bench{TB: t, device: d}
	b.queue = must(d.NewQueue())(b)
	b.Cleanup(b.queue.Free)
	return b
}

func must[T any](v T, err error) func(*bench) T {
	return func(b *bench) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

func (b *bench) pipeline(name string, constants ...driver.Constant) driver.Pipeline {
	b.Helper()
	l := must(b.device.NewLibrary(kernels, driver.LibraryOptions{}))(b)
	p := must(l.Pipeline(name, constants...))(b)
	b.Cleanup(func() {
		p.Free()
		l.Free()
	})
	return p
}

// buffer makes a buffer of n words that holds values.
func (b *bench) buffer(n int, values ...uint32) driver.Buffer {
	b.Helper()
	m := must(b.device.NewBuffer(4 * n))(b)
	for i, v := range values {
		binary.LittleEndian.PutUint32(m.Bytes()[4*i:], v)
	}
	b.Cleanup(m.Free)
	return m
}

func word(m driver.Buffer, i int) uint32 { return binary.LittleEndian.Uint32(m.Bytes()[4*i:]) }

func (b *bench) wantWords(m driver.Buffer, want ...uint32) {
	b.Helper()
	for i, w := range want {
		if got := word(m, i); got != w {
			b.Errorf("word %d is %d, want %d", i, got, w)
		}
	}
}

// run encodes with one encoder, commits, waits and gives the command buffer back.
func (b *bench) run(mode driver.Mode, encode func(driver.Encoder)) {
	b.Helper()
	c := b.commit(mode, encode)
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
	c.Free()
}

func (b *bench) commit(mode driver.Mode, encode func(driver.Encoder)) driver.CommandBuffer {
	b.Helper()
	c := must(b.queue.CommandBuffer("suite"))(b)
	e := c.Compute(mode)
	encode(e)
	e.End()
	c.Commit()
	return c
}

func words(values ...uint32) []byte {
	var p []byte
	for _, v := range values {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	return p
}
