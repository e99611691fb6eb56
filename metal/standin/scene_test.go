package standin

import (
	"strings"

	"github.com/fieldfare/fieldfare/metal/driver"
)

const sceneSource = `#include <metal_stdlib>
using namespace metal;
constant uint FACTOR [[function_constant(0)]];
kernel void add(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    out[i] = in[i] * FACTOR + n;
}
kernel void room(device uint *out [[buffer(0)]], threadgroup uint *a [[threadgroup(0)]]) {
    threadgroup uint b[4];
    b[0] = 1;
    a[0] = 2;
    out[0] = a[0] + b[0];
}
`

// A scene is a device with three buffers of 64 words. It panics where a test would fail: it lives in processes that
// are to die of something else.
type scene struct {
	device             driver.Device
	queue              driver.Queue
	library            driver.Library
	left, right, other driver.Buffer
}

func newScene(o Options) *scene {
	d, err := Open(o)
	s := &scene{device: d}
	s.check(err)
	s.queue, err = d.NewQueue()
	s.check(err)
	s.library, err = d.NewLibrary(sceneSource, driver.LibraryOptions{})
	s.check(err)
	for label, b := range map[string]*driver.Buffer{"left": &s.left, "right": &s.right, "other": &s.other} {
		*b, err = d.NewBuffer(256)
		s.check(err)
		(*b).SetLabel(label)
	}
	return s
}

func (s *scene) check(err error) {
	if err != nil {
		panic("scene: " + strings.TrimSpace(err.Error()))
	}
}

func (s *scene) command(label string) driver.CommandBuffer {
	c, err := s.queue.CommandBuffer(label)
	s.check(err)
	return c
}

func (s *scene) pipeline(name string, constants ...driver.Constant) driver.Pipeline {
	p, err := s.library.Pipeline(name, constants...)
	s.check(err)
	return p
}

// encode writes "add" from left to right; more changes the bindings before the dispatch.
func (s *scene) encode(e driver.Encoder, grid, threads driver.Size, more func(driver.Encoder)) {
	e.SetPipeline(s.pipeline("add", driver.Uint(0, 1)))
	e.SetBuffer(0, s.left, 0)
	e.SetBuffer(1, s.right, 0)
	e.SetBytes(2, []byte{1, 0, 0, 0})
	more(e)
	e.Dispatch(grid, threads)
}

func (s *scene) add(label string, more func(driver.Encoder)) {
	c := s.command(label)
	e := c.Compute(driver.Serial)
	s.encode(e, driver.D1(64), driver.D1(32), more)
	e.End()
	c.Commit()
	s.check(c.Wait())
}

func (s *scene) dispatch(label string, grid, threads driver.Size) {
	s.encode(s.command(label).Compute(driver.Serial), grid, threads, func(driver.Encoder) {})
}

// hold commits an addition that waits for an event which never comes.
func (s *scene) hold() {
	event, err := s.device.NewEvent()
	s.check(err)
	c := s.command("held")
	c.WaitEvent(event, 1)
	e := c.Compute(driver.Serial)
	s.encode(e, driver.D1(64), driver.D1(32), func(driver.Encoder) {})
	e.End()
	c.Commit()
}

// loose runs an addition from left to right and, without a barrier, another one with other bindings.
func (s *scene) loose(label string, second func(*scene, driver.Encoder)) {
	c := s.command(label)
	e := c.Compute(driver.Concurrent)
	s.encode(e, driver.D1(64), driver.D1(32), func(driver.Encoder) {})
	s.encode(e, driver.D1(64), driver.D1(32), func(e driver.Encoder) { second(s, e) })
	e.End()
	c.Commit()
	s.check(c.Wait())
}
