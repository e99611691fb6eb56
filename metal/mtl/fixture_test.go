package mtl_test

import (
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/metal/standin"
)

const source = `#include <metal_stdlib>
using namespace metal;
constant uint FACTOR [[function_constant(3)]];
struct Params { uint n, add; };
kernel void scale(device const uint *a [[buffer(0)]], device const uint *b [[buffer(1)]],
                  device const uint *c [[buffer(2)]], device uint *out [[buffer(3)]],
                  constant Params &p [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i < p.n) {
        out[i] = (a[i] + b[i] + c[i]) * FACTOR + p.add;
    }
}
`

// A fixture is a device with one kernel, specialised twice, and five buffers of 64 words.
type fixture struct {
	device    driver.Device
	queue     driver.Queue
	library   driver.Library
	pipelines [2]driver.Pipeline
	buffers   [5]driver.Buffer
	params    []byte
}

func newFixture(t testing.TB, o standin.Options) *fixture {
	t.Helper()
	f := &fixture{device: standin.ForTest(t, o), params: []byte{64, 0, 0, 0, 1, 0, 0, 0}}
	f.library = must(f.device.NewLibrary(source, driver.LibraryOptions{}))(t)
	f.queue = must(f.device.NewQueue())(t)
	for i := range f.pipelines {
		f.pipelines[i] = must(f.library.Pipeline("scale", driver.Uint(3, uint32(i+2))))(t)
	}
	for i := range f.buffers {
		f.buffers[i] = must(f.device.NewBuffer(256))(t)
	}
	t.Cleanup(f.free)
	return f
}

func (f *fixture) free() {
	for _, b := range f.buffers {
		b.Free()
	}
	for _, p := range f.pipelines {
		p.Free()
	}
	f.library.Free()
	f.queue.Free()
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
