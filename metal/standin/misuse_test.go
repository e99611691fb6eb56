//go:build linux

package standin

import (
	"runtime"
	"syscall"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// A misuse and a part of the report that it must end with.
type misuse struct {
	report string
	commit func()
}

var misuses = map[string]misuse{
	// Objective-C
	"a selector that nobody implements": {"unknown selector: -[MTLDevice makeCoffee]", func() {
		r := newRaw(Options{})
		r.send(r.device(), "makeCoffee")
	}},
	"a message to a released object": {"message to a released MTLBuffer: -contents", func() {
		r := newRaw(Options{})
		b := r.send(r.device(), "newBufferWithLength:options:", 64, 0)
		r.call("objc_release", b)
		r.send(b, "contents")
	}},
	"a release too many": {"release of a released MTLBuffer", func() {
		r := newRaw(Options{})
		b := r.send(r.device(), "newBufferWithLength:options:", 64, 0)
		r.call("objc_release", b)
		r.call("objc_release", b)
	}},
	"an autoreleased object without a pool": {"a MTLCommandBuffer is autoreleased on a thread without a pool", func() {
		runtime.LockOSThread()
		r := newRaw(Options{})
		r.send(r.send(r.device(), "newCommandQueue"), "commandBuffer")
	}},
	"a pool popped twice": {"a pool is popped that was not pushed on this thread", func() {
		runtime.LockOSThread()
		r := newRaw(Options{})
		p := r.call("objc_autoreleasePoolPush")
		r.call("objc_autoreleasePoolPop", p)
		r.call("objc_autoreleasePoolPop", p)
	}},
	"an object of the wrong class": {"pipeline state is a MTLDevice, not a MTLComputePipelineState", func() {
		runtime.LockOSThread()
		r := newRaw(Options{})
		e := r.send(r.commandBuffer(), "computeCommandEncoderWithDispatchType:", 0)
		r.send(e, "setComputePipelineState:", r.device())
	}},

	// Memory
	"a managed buffer": {"buffer of storage mode 1", func() {
		r := newRaw(Options{})
		r.send(r.device(), "newBufferWithLength:options:", 64, 1<<4)
	}},
	"the contents of a private buffer": {"contents of the private buffer", func() {
		r := newRaw(Options{})
		r.send(r.send(r.device(), "newBufferWithLength:options:", 64, 2<<4), "contents")
	}},
	"half a page without a copy": {"not whole pages", func() {
		r := newRaw(Options{})
		r.send(r.device(), "newBufferWithBytesNoCopy:length:options:deallocator:", 4096, 2048, 0, 0)
	}},

	// Command buffers
	"an encoder that never ends": {"is released without endEncoding", func() {
		runtime.LockOSThread()
		r := newRaw(Options{})
		p := r.call("objc_autoreleasePoolPush")
		c := r.send(r.send(r.device(), "newCommandQueue"), "commandBuffer")
		r.send(c, "blitCommandEncoder")
		r.call("objc_autoreleasePoolPop", p)
	}},
	"a commit with an open encoder": {"commit: command buffer '' has an open encoder", func() {
		runtime.LockOSThread()
		r := newRaw(Options{})
		c := r.commandBuffer()
		r.send(c, "blitCommandEncoder")
		r.send(c, "commit")
	}},
	"two encoders at once": {"blitCommandEncoder: command buffer '' has an open encoder", func() {
		runtime.LockOSThread()
		r := newRaw(Options{})
		c := r.commandBuffer()
		r.send(c, "blitCommandEncoder")
		r.send(c, "blitCommandEncoder")
	}},
	"encoding after commit": {"blitCommandEncoder: command buffer 'once' is committed already", func() {
		s := newScene(Options{})
		c := s.command("once")
		c.Commit()
		c.Blit()
	}},
	"a second commit": {"commit: command buffer 'once' is committed already", func() {
		s := newScene(Options{})
		c := s.command("once")
		c.Commit()
		c.Commit()
	}},
	"waiting for what was not committed": {"waitUntilCompleted: command buffer 'never' is not committed", func() {
		newScene(Options{}).command("never").Wait()
	}},
	"more command buffers than a queue has": {"64 command buffers of this queue exist and none is committed", func() {
		s := newScene(Options{})
		for range 65 {
			s.command("kept")
		}
	}},
	"an event that goes back": {"setSignaledValue: 1 after 2", func() {
		e, _ := newScene(Options{}).device.NewEvent()
		e.Set(2)
		e.Set(1)
	}},

	// Dispatches
	"a dispatch without a pipeline": {"dispatchThreads without a pipeline", func() {
		s := newScene(Options{})
		s.command("bare").Compute(driver.Serial).Dispatch(driver.D1(1), driver.D1(1))
	}},
	"a binding beyond the buffer": {"binding beyond a buffer: offset 256 of buffer 'left' (256 bytes) at index 0", func() {
		s := newScene(Options{})
		s.add("far", func(e driver.Encoder) { e.SetBuffer(0, s.left, 256) })
	}},
	"an argument without a binding": {"kernel add: nothing is bound to 'n', buffer(2)", func() {
		s := newScene(Options{})
		e := s.command("open").Compute(driver.Serial)
		e.SetPipeline(s.pipeline("add"))
		e.SetBuffer(0, s.left, 0)
		e.SetBuffer(1, s.right, 0)
		e.Dispatch(driver.D1(1), driver.D1(1))
	}},
	"bytes for an argument that is written": {"kernel add: 'out', buffer(1), is written but bound by setBytes", func() {
		s := newScene(Options{})
		s.add("bytes", func(e driver.Encoder) { e.SetBytes(1, make([]byte, 64)) })
	}},
	"read-only memory for what is written": {"'out', buffer(1), is written but is read-only memory, 'map'", func() {
		s := newScene(Options{})
		mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		s.check(err)
		b, err := s.device.WrapBuffer(mem)
		s.check(err)
		b.SetLabel("map")
		s.add("mapped", func(e driver.Encoder) { e.SetBuffer(1, b, 0) })
	}},
	"too many threads": {"kernel add: 2048 x 1 x 1 threads per threadgroup: 1 to 1024 allowed", func() {
		s := newScene(Options{})
		s.dispatch("wide", driver.D1(64), driver.D1(2048))
	}},
	"more threads than this pipeline allows": {"kernel add: 64 x 1 x 1 threads per threadgroup: 1 to 32 allowed", func() {
		s := newScene(Options{MaxThreads: 32})
		s.dispatch("wide", driver.D1(64), driver.D1(64))
	}},
	"an empty grid": {"kernel add: a grid of 0 x 1 x 1 threads", func() {
		s := newScene(Options{})
		s.dispatch("empty", driver.D1(0), driver.D1(32))
	}},
	"too much threadgroup memory": {"kernel room: 32784 bytes of threadgroup memory are more than 32768", func() {
		s := newScene(Options{})
		e := s.command("big").Compute(driver.Serial)
		e.SetPipeline(s.pipeline("room"))
		e.SetBuffer(0, s.left, 0)
		e.SetThreadgroupMemory(0, 32768)
		e.Dispatch(driver.D1(1), driver.D1(1))
	}},
	"threadgroup memory of an odd length": {"setThreadgroupMemoryLength: 24 at index 0", func() {
		newScene(Options{}).command("odd").Compute(driver.Serial).SetThreadgroupMemory(0, 24)
	}},
	"a function constant of another type": {"function constant 0, FACTOR, is a uint and is given as a float", func() {
		newScene(Options{}).pipeline("add", driver.Float(0, 1))
	}},
	"a copy beyond the buffer": {"copyFromBuffer: source: bytes [200, 300) of buffer 'left' (256 bytes)", func() {
		s := newScene(Options{})
		s.command("copy").Blit().Copy(s.right, 0, s.left, 200, 100)
	}},
	"a copy onto itself": {"source and destination overlap in buffer 'left'", func() {
		s := newScene(Options{})
		s.command("copy").Blit().Copy(s.left, 32, s.left, 0, 64)
	}},

	// Order
	"the CPU reads what queued work writes": {
		"the CPU touches byte 8 of buffer 'right' (256 bytes) while command buffer 'held', which writes it", func() {
			s := newScene(Options{})
			s.hold()
			sink = s.right.Bytes()[8]
		}},
	"the CPU writes what queued work reads": {
		"the CPU writes byte 4 of buffer 'left' (256 bytes) while command buffer 'held', which reads it, is queued", func() {
			s := newScene(Options{})
			s.hold()
			s.left.Bytes()[4] = 1
		}},
	"the CPU overwrites a slot that queued work reads": {
		"the CPU writes byte 0 of buffer 'slot' (4096 bytes) while command buffer 'held', which reads it, is queued", func() {
			s := newScene(Options{})
			mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
			s.check(err)
			s.left, err = s.device.WrapBuffer(mem)
			s.check(err)
			s.left.SetLabel("slot")
			s.hold()
			mem[0] = 1
		}},
	"a read after a write without a barrier": {
		"missing barrier in command buffer 'loose': kernel add reads byte 0 of buffer 'right' (argument 'in'), " +
			"which kernel add wrote before in the same concurrent encoder", func() {
			newScene(Options{Checked: true}).loose("loose", func(s *scene, e driver.Encoder) {
				e.SetBuffer(0, s.right, 0)
				e.SetBuffer(1, s.other, 0)
			})
		}},
	"a write after a read without a barrier": {
		"kernel add writes byte 0 of buffer 'left' (argument 'out'), which kernel add read before", func() {
			newScene(Options{Checked: true}).loose("loose", func(s *scene, e driver.Encoder) {
				e.SetBuffer(0, s.other, 0)
				e.SetBuffer(1, s.left, 0)
			})
		}},
	"two writes without a barrier": {
		"kernel add writes byte 0 of buffer 'right' (argument 'out'), which kernel add wrote before", func() {
			newScene(Options{Checked: true}).loose("loose", func(s *scene, e driver.Encoder) { e.SetBuffer(0, s.other, 0) })
		}},
}

var sink byte
