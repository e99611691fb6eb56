package mtl

// Buffer is an id<MTLBuffer> in shared memory. https://developer.apple.com/documentation/metal/mtlbuffer
type Buffer struct {
	id    uintptr // owned; 0 after Free
	bytes []byte  // the buffer's memory, not Go's
}

// Len is the length in bytes.
func (b *Buffer) Len() int { return len(b.bytes) }

// Bytes is the memory itself.
func (b *Buffer) Bytes() []byte { return b.bytes }

// Modified does nothing: shared memory has one copy.
func (b *Buffer) Modified(lo, hi int) {}

// SetLabel names the buffer in reports and captures.
// https://developer.apple.com/documentation/metal/mtlresource/label
func (b *Buffer) SetLabel(label string) {
	s := newString(label)
	send(b.id, msgSetLabel, s)
	release(s)
}

// Free releases the buffer; command buffers that use it hold it until they are complete.
func (b *Buffer) Free() {
	if b.id == 0 {
		panic("BUG: mtl: buffer freed twice")
	}
	release(b.id)
	b.id, b.bytes = 0, nil
}

// Event is an id<MTLSharedEvent>. https://developer.apple.com/documentation/metal/mtlsharedevent
type Event struct {
	id uintptr // owned
}

// Value is the present count.
func (e *Event) Value() uint64 { return uint64(send(e.id, msgEventValue)) }

// Set raises the count from the CPU.
func (e *Event) Set(value uint64) { send(e.id, msgEventSet, uintptr(value)) }

// Free releases the event.
func (e *Event) Free() { release(e.id) }
