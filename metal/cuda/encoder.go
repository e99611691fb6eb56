package cuda

import (
	"fmt"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
)

const maxBindings = 31

// An argument is what is bound to one index: a buffer, or bytes at an offset of the command buffer's.
type argument struct {
	buffer *Buffer
	offset int
	bound  bool
}

// Encoder records dispatches. The GPU runs them in order, under Concurrent too.
type Encoder struct {
	commands    *CommandBuffer
	pipeline    *Pipeline
	arguments   [maxBindings]argument
	threadgroup [maxBindings]int
}

// Compute opens an encoder.
func (b *CommandBuffer) Compute(driver.Mode) driver.Encoder { return &Encoder{commands: b} }

// SetPipeline selects the kernel.
func (e *Encoder) SetPipeline(p driver.Pipeline) { e.pipeline = p.(*Pipeline) }

// SetBuffer binds a buffer.
func (e *Encoder) SetBuffer(index int, b driver.Buffer, offset int) {
	e.arguments[index] = argument{b.(*Buffer), offset, true}
}

// SetBytes binds a copy of p.
func (e *Encoder) SetBytes(index int, p []byte) {
	const align = 256
	c := e.commands
	at := (len(c.bytes) + align - 1) / align * align
	c.bytes = append(c.bytes, make([]byte, at-len(c.bytes))...)
	c.bytes = append(c.bytes, p...)
	e.arguments[index] = argument{nil, at, true}
}

// SetThreadgroupMemory sizes a threadgroup argument.
func (e *Encoder) SetThreadgroupMemory(index, n int) { e.threadgroup[index] = n }

// Barrier does nothing: dispatches run in order.
func (e *Encoder) Barrier() {}

// End closes the encoder.
func (e *Encoder) End() { e.commands = nil }

// kernelArguments mirrors struct msl_cuda_args.
type kernelArguments struct {
	buffer      [maxBindings]uintptr
	threadgroup [maxBindings]uint32
	grid        [3]uint32
}

// A launch is a dispatch with all that it needs.
type launch struct {
	pipeline  *Pipeline
	arguments [maxBindings]argument
	kernel    kernelArguments
	groups    [3]uint32
	threads   [3]uint32
	shared    uint32
}

// Dispatch records the kernel with what is bound.
func (e *Encoder) Dispatch(grid, threadgroup driver.Size) {
	l := &launch{pipeline: e.pipeline, arguments: e.arguments}
	l.kernel.grid, l.threads = words(grid), words(threadgroup)
	for i := range l.groups {
		l.groups[i] = (l.kernel.grid[i] + l.threads[i] - 1) / l.threads[i]
	}
	for i, n := range e.threadgroup {
		l.kernel.threadgroup[i] = l.shared
		l.shared += uint32(n+15) &^ 15
	}
	c := e.commands
	for _, a := range e.pipeline.kernel.Arguments {
		if a.Kind != "buffer" {
			continue
		}
		if !e.arguments[a.Index].bound {
			panic(fmt.Sprintf("BUG: cuda: kernel %s: nothing is bound to %s, buffer(%d)", e.pipeline.Name(), a.Name, a.Index))
		}
		if b := e.arguments[a.Index].buffer; b != nil {
			c.use(b, a.Writable)
		}
	}
	c.add(func() error { return l.run(c.queue.params) })
}

func words(s driver.Size) [3]uint32 { return [3]uint32{uint32(s.X), uint32(s.Y), uint32(s.Z)} }

// run starts the kernel; params is where the command buffer's bytes lie.
func (l *launch) run(params uintptr) error {
	for i, a := range l.arguments {
		switch {
		case a.buffer != nil:
			l.kernel.buffer[i] = a.buffer.address + uintptr(a.offset)
		case a.bound:
			l.kernel.buffer[i] = params + uintptr(a.offset)
		}
	}
	list := new([1]unsafe.Pointer)
	list[0] = unsafe.Pointer(&l.kernel)
	return check("run "+l.pipeline.Name(), cu.LaunchKernel(l.pipeline.function, l.groups[0], l.groups[1], l.groups[2],
		l.threads[0], l.threads[1], l.threads[2], l.shared, 0, unsafe.Pointer(list), nil))
}

// BlitEncoder records copies and fills.
type BlitEncoder struct{ commands *CommandBuffer }

// Blit opens an encoder.
func (b *CommandBuffer) Blit() driver.BlitEncoder { return &BlitEncoder{b} }

// Copy copies bytes between buffers.
func (e *BlitEncoder) Copy(dst driver.Buffer, dstOffset int, src driver.Buffer, srcOffset, n int) {
	to, from := dst.(*Buffer), src.(*Buffer)
	e.commands.use(to, true)
	e.commands.use(from, false)
	e.commands.add(func() error {
		return check("copy", cu.MemcpyDtoD(to.address+uintptr(dstOffset), from.address+uintptr(srcOffset), uintptr(n)))
	})
}

// Fill sets bytes.
func (e *BlitEncoder) Fill(dst driver.Buffer, offset, n int, value byte) {
	to := dst.(*Buffer)
	e.commands.use(to, true)
	e.commands.add(func() error { return check("fill", cu.MemsetD8(to.address+uintptr(offset), value, uintptr(n))) })
}

// End closes the encoder.
func (e *BlitEncoder) End() { e.commands = nil }
