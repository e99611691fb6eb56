package driver

import "time"

// A Device is one GPU. Its methods may be called from any goroutine.
type Device interface {
	// Info describes the device; it never changes.
	Info() Info
	// NewBuffer allocates n zeroed bytes, n at least 1, that CPU and GPU both see.
	NewBuffer(n int) (Buffer, error)
	// WrapBuffer lets kernels use mem in place. mem starts and ends on a page (PageSize), is not from the Go heap and
	// outlives the buffer and the work that uses it. Memory mapped read-only is only ever bound to const arguments.
	WrapBuffer(mem []byte) (Buffer, error)
	// NewLibrary compiles MSL. An error of the compiler is a *CompileError.
	NewLibrary(source string, o LibraryOptions) (Library, error)
	// NewQueue makes a queue for command buffers.
	NewQueue() (Queue, error)
	// NewEvent makes a counter that GPU and CPU both set and wait for, at 0.
	NewEvent() (Event, error)
	// Close gives the device back. All its objects must have been given back before.
	Close() error
}

// Info holds what a caller may have to know before it picks kernels and sizes.
type Info struct {
	// Name is the device's own, e.g. "Apple M2".
	Name string
	// AppleFamily is the GPU family: 7 for M1, 8 for M2, 9 for M3 and M4, 10 for M5; 0 when the device is none of Apple's.
	AppleFamily int
	// Metal3 and Metal4 tell whether the device and the system have the feature sets of these names.
	Metal3, Metal4 bool
	// UnifiedMemory tells whether CPU and GPU share one memory, as on Apple Silicon.
	UnifiedMemory bool
	// MaxThreads is the most threads of one threadgroup, in all and per axis.
	MaxThreads     int
	MaxThreadsAxis Size
	// MaxThreadgroupMemory is the most threadgroup memory of one dispatch, static and dynamic, in bytes.
	MaxThreadgroupMemory int
	// MaxBuffer is the longest buffer in bytes.
	MaxBuffer int64
	// WorkingSet is how many bytes of buffers the system recommends to stay below.
	WorkingSet int64
	// PageSize is what WrapBuffer aligns to, in bytes.
	PageSize int
}

// A Buffer is memory that kernels read and write.
type Buffer interface {
	// Len is the length in bytes.
	Len() int
	// Bytes is the memory itself, valid until Free. The CPU may read it when no queued work writes it, and write it
	// when no queued work uses it.
	Bytes() []byte
	// Modified tells a device without unified memory that the CPU wrote bytes [lo, hi) of wrapped memory since it
	// was wrapped; work committed from now on sees them. Elsewhere it does nothing.
	Modified(lo, hi int)
	// SetLabel names the buffer in reports.
	SetLabel(label string)
	// Free gives the buffer back; queued work that uses it still completes.
	Free()
}

// LibraryOptions says how MSL is compiled. The zero value: MSL 3.0, Metal's default fast math, no macros.
type LibraryOptions struct {
	// Version is the language version, major<<16 | minor; 0 means 3.0.
	Version uint32
	// PreciseMath turns fast math off: no reassociation, no flushed NaN.
	PreciseMath bool
	// Macros are defined before the first line, name to value.
	Macros map[string]string
}

// A Library is compiled MSL.
type Library interface {
	// Functions lists the names of its kernels.
	Functions() []string
	// Pipeline specialises kernel name for constants and makes it ready to run.
	Pipeline(name string, constants ...Constant) (Pipeline, error)
	Free()
}

// A Pipeline is a kernel that is ready to run.
type Pipeline interface {
	Name() string
	// MaxThreads is the most threads per threadgroup that this kernel's registers allow.
	MaxThreads() int
	// SIMDWidth is the number of threads of a simdgroup.
	SIMDWidth() int
	// ThreadgroupMemory is the kernel's static threadgroup memory in bytes; SetThreadgroupMemory comes on top.
	ThreadgroupMemory() int
	Free()
}

// A Queue runs command buffers in the order of their commits.
type Queue interface {
	// CommandBuffer makes an empty command buffer. label, which names stage and layer, stands in its errors; labels
	// come from a small set: each is kept.
	CommandBuffer(label string) (CommandBuffer, error)
	Free()
}

// A CommandBuffer collects work for one trip to the GPU.
type CommandBuffer interface {
	// Compute opens an encoder for dispatches. One encoder is open at a time.
	Compute(mode Mode) Encoder
	// Blit opens an encoder for copies and fills.
	Blit() BlitEncoder
	// SignalEvent sets e to value when everything encoded so far is complete; WaitEvent holds what is encoded later
	// back until e has reached value. Neither while an encoder is open.
	SignalEvent(e Event, value uint64)
	WaitEvent(e Event, value uint64)
	// Commit sends the work to the GPU and returns at once.
	Commit()
	// Passed tells, without waiting, whether the work is over: completed or failed.
	Passed() bool
	// Wait blocks until the work is over and returns its error: one of this package's kinds, wrapped with the label.
	// It may be called from any goroutine, after Commit.
	Wait() error
	// Times gives when the GPU began and ended the work, on a clock of its own: the difference counts. Zeros before
	// the work is over.
	Times() (start, end time.Duration)
	// Free gives the command buffer back, at any time; committed work still runs.
	Free()
}

// Mode says how dispatches of one encoder are ordered.
type Mode int

const (
	Serial     Mode = iota // each dispatch sees what those before it wrote
	Concurrent             // dispatches overlap; Barrier orders them
)

// An Encoder writes dispatches into a command buffer. Settings stay for the dispatches that follow.
// No method allocates or fails: misuse is a broken promise, reported by the stand-in or by Metal's validation.
type Encoder interface {
	SetPipeline(p Pipeline)
	// SetBuffer binds b from offset on to [[buffer(index)]].
	SetBuffer(index int, b Buffer, offset int)
	// SetBytes binds a copy of p, at most 4096 bytes, to [[buffer(index)]].
	SetBytes(index int, p []byte)
	// SetThreadgroupMemory gives [[threadgroup(index)]] n bytes, a multiple of 16.
	SetThreadgroupMemory(index, n int)
	// Dispatch runs the pipeline on a grid of so many threads, in threadgroups of the given size; those at the upper
	// edges may be smaller.
	Dispatch(grid, threadgroup Size)
	// Barrier makes dispatches before it complete, and their writes seen, before those after it begin.
	Barrier()
	// End closes the encoder, which is not used again.
	End()
}

// A BlitEncoder writes copies and fills into a command buffer.
type BlitEncoder interface {
	Copy(dst Buffer, dstOffset int, src Buffer, srcOffset, n int)
	// Fill sets n bytes from offset on to value.
	Fill(dst Buffer, offset, n int, value byte)
	End()
}

// An Event is a counter for order between CPU and GPU, or between queues.
type Event interface {
	// Value is the present count.
	Value() uint64
	// Set raises the count from the CPU; work that waits for it goes on.
	Set(value uint64)
	Free()
}
