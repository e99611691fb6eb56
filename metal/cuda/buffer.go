package cuda

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Buffer is memory of the GPU, with a copy for the CPU when it was asked for.
type Buffer struct {
	device *Device
	label  string

	mu      sync.Mutex
	address uintptr
	n       int
	host    []byte // the CPU's copy; nil until Bytes
	wrapped bool   // host is memory of the caller's
	lo, hi  int    // bytes of wrapped memory that are to be sent
	uses    int    // 1 for the owner and 1 for each command buffer under way
}

func (d *Device) allocate(n int) (*Buffer, error) {
	if n < 1 || int64(n) > d.info.MaxBuffer {
		return nil, fmt.Errorf("allocate a buffer of %d bytes: %w", n, driver.ErrOutOfMemory)
	}
	b := &Buffer{device: d, n: n, uses: 1}
	return b, d.main.do(func() error {
		if err := check(fmt.Sprintf("allocate a buffer of %d bytes", n), cu.MemAlloc(&b.address, uintptr(n))); err != nil {
			return err
		}
		return check("clear a buffer", cu.MemsetD8(b.address, 0, uintptr(n)))
	})
}

// NewBuffer allocates n zeroed bytes.
func (d *Device) NewBuffer(n int) (driver.Buffer, error) {
	b, err := d.allocate(n)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// WrapBuffer makes a copy of mem on the GPU, kept up as the package comment says.
func (d *Device) WrapBuffer(mem []byte) (driver.Buffer, error) {
	address := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	page := d.info.PageSize
	if len(mem) == 0 || address%uintptr(page) != 0 || len(mem)%page != 0 {
		return nil, fmt.Errorf("wrap %d bytes at %#x: not whole pages of %d bytes", len(mem), address, page)
	}
	b, err := d.allocate(len(mem))
	if err != nil {
		return nil, err
	}
	b.host, b.wrapped, b.hi = mem, true, len(mem)
	return b, nil
}

// Len is the length in bytes.
func (b *Buffer) Len() int { return b.n }

// SetLabel names the buffer.
func (b *Buffer) SetLabel(label string) { b.label = label }

// Bytes is the CPU's copy.
func (b *Buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.host == nil {
		b.host = make([]byte, b.n)
		if err := b.device.main.do(b.download); err != nil {
			panic("BUG: cuda: " + err.Error()) // the GPU is lost, which every command buffer says too
		}
	}
	return b.host
}

// Modified notes that the CPU wrote bytes [lo, hi) of wrapped memory.
func (b *Buffer) Modified(lo, hi int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lo == b.hi {
		b.lo, b.hi = lo, hi
		return
	}
	b.lo, b.hi = min(b.lo, lo), max(b.hi, hi)
}

// Free gives the buffer back; work under way keeps it.
func (b *Buffer) Free() { b.release() }

func (b *Buffer) retain() {
	b.mu.Lock()
	b.uses++
	b.mu.Unlock()
}

func (b *Buffer) release() {
	b.mu.Lock()
	b.uses--
	last := b.uses == 0
	if b.uses < 0 {
		panic("BUG: cuda: buffer freed twice")
	}
	b.mu.Unlock()
	if last {
		b.device.main.work <- func() { cu.MemFree(b.address) }
	}
}

// send brings the GPU's bytes up to the CPU's; the GPU's context is current.
func (b *Buffer) send() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	lo, hi := 0, len(b.host)
	if b.wrapped {
		lo, hi = b.lo, b.hi
		b.lo, b.hi = 0, 0
	}
	if lo == hi {
		return nil
	}
	return check("send "+b.label, cu.MemcpyHtoD(b.address+uintptr(lo), unsafe.Pointer(&b.host[lo]), uintptr(hi-lo)))
}

// fetch brings the CPU's bytes up to the GPU's, when the CPU has a copy; the GPU's context is current.
func (b *Buffer) fetch() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.host == nil {
		return nil
	}
	return b.download()
}

func (b *Buffer) download() error {
	return check("fetch "+b.label, cu.MemcpyDtoH(unsafe.Pointer(&b.host[0]), b.address, uintptr(b.n)))
}

// Event is a counter in the CPU's memory: queues wait on their goroutines.
type Event struct {
	mu      sync.Mutex
	changed *sync.Cond
	value   uint64
}

// NewEvent makes an event at 0.
func (d *Device) NewEvent() (driver.Event, error) {
	e := new(Event)
	e.changed = sync.NewCond(&e.mu)
	return e, nil
}

// Value is the present count.
func (e *Event) Value() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.value
}

// Set raises the count.
func (e *Event) Set(value uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.value = value
	e.changed.Broadcast()
}

func (e *Event) wait(value uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.value < value {
		e.changed.Wait()
	}
}

// Free does nothing: the event is Go memory.
func (e *Event) Free() {}
