package mtl

import (
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Encoder is an id<MTLComputeCommandEncoder>. https://developer.apple.com/documentation/metal/mtlcomputecommandencoder
//
// This is the hot path: nine hundred dispatches a token. Arguments are written into one reused array, what is set
// already is not set again, and buffers that changed are set in runs when a dispatch needs them.
//
// The encoder is autoreleased: the pool pushed before it was made holds it, and with it the goroutine its thread,
// until End.
type Encoder struct {
	id   uintptr
	pool pool
	args words

	pipeline uintptr
	buffers  [maxBindings]uintptr // ids that are bound or will be, 0 when bytes are
	offsets  [maxBindings]uintptr
	changed  uint32 // bit i: buffers[i] is not set yet

	grid, threads size
	bytes         [maxBytes]byte
}

const (
	maxBindings = 31
	maxBytes    = 4096
)

// Compute opens an encoder for dispatches.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/makecomputecommandencoder(dispatchtype:)
func (b *CommandBuffer) Compute(mode driver.Mode) driver.Encoder {
	e := &b.encoder
	kind := uintptr(dispatchTypeSerial)
	if mode == driver.Concurrent {
		kind = dispatchTypeConcurrent
	}
	e.pool = push()
	e.id = sendWord(b.id, msgComputeEncoder, kind)
	e.pipeline, e.buffers, e.offsets, e.changed = 0, [maxBindings]uintptr{}, [maxBindings]uintptr{}, 0
	return e
}

// call sends m with args, of which the first two are filled in here.
func (e *Encoder) call(m *message) {
	e.args[0], e.args[1] = e.id, m.sel
	purego.SyscallN(c.msgSend, e.args[:2+m.words]...)
}

// SetPipeline selects the kernel.
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setcomputepipelinestate(_:)
func (e *Encoder) SetPipeline(p driver.Pipeline) {
	id := p.(*Pipeline).id
	if id == e.pipeline {
		return
	}
	e.pipeline = id
	e.args[2] = id
	e.call(msgSetPipeline)
}

// SetBuffer binds a buffer; the message is sent with the next dispatch.
func (e *Encoder) SetBuffer(index int, b driver.Buffer, offset int) {
	id := b.(*Buffer).id
	if e.buffers[index] == id && e.offsets[index] == uintptr(offset) {
		return
	}
	e.buffers[index], e.offsets[index] = id, uintptr(offset)
	e.changed |= 1 << index
}

// SetBytes binds a copy of p.
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setbytes(_:length:index:)
func (e *Encoder) SetBytes(index int, p []byte) {
	if len(p) > maxBytes {
		panic("BUG: mtl: more than 4096 bytes for SetBytes")
	}
	copy(e.bytes[:], p)
	e.args[2], e.args[3], e.args[4] = uintptr(unsafe.Pointer(&e.bytes)), uintptr(len(p)), uintptr(index)
	e.call(msgSetBytes)
	e.buffers[index] = 0
	e.changed &^= 1 << index
}

// SetThreadgroupMemory sizes a threadgroup argument.
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setthreadgroupmemorylength(_:index:)
func (e *Encoder) SetThreadgroupMemory(index, n int) {
	e.args[2], e.args[3] = uintptr(n), uintptr(index)
	e.call(msgSetThreadgroup)
}

// Dispatch runs the pipeline on a grid of threads.
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/dispatchthreads(_:threadsperthreadgroup:)
func (e *Encoder) Dispatch(grid, threadgroup driver.Size) {
	e.setBuffers()
	e.grid = size{uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z)}
	e.threads = size{uintptr(threadgroup.X), uintptr(threadgroup.Y), uintptr(threadgroup.Z)}
	e.dispatch()
	runtime.KeepAlive(e)
}

// setBuffers sends the changed bindings, runs of neighbours in one message.
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setbuffer(_:offset:index:)
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setbuffers(_:offsets:range:)
func (e *Encoder) setBuffers() {
	for e.changed != 0 {
		first := bits.TrailingZeros32(e.changed)
		run := bits.TrailingZeros32(^(e.changed >> first))
		e.changed &^= (1<<run - 1) << first
		if run == 1 {
			e.args[2], e.args[3], e.args[4] = e.buffers[first], e.offsets[first], uintptr(first)
			e.call(msgSetBuffer)
			continue
		}
		e.args[2], e.args[3] = uintptr(unsafe.Pointer(&e.buffers[first])), uintptr(unsafe.Pointer(&e.offsets[first]))
		e.args[4], e.args[5] = uintptr(first), uintptr(run)
		e.call(msgSetBuffers)
	}
}

// Barrier orders memory between the dispatches of a concurrent encoder.
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/memorybarrier(scope:)
func (e *Encoder) Barrier() {
	e.args[2] = barrierScopeBuffers
	e.call(msgBarrier)
}

// End closes the encoder. https://developer.apple.com/documentation/metal/mtlcommandencoder/endencoding()
func (e *Encoder) End() {
	e.call(msgEndEncoding)
	e.id = 0
	e.pool.drain()
}
