package metal

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// A view is memory that kernels use in place: whole pages around it.
type view struct {
	buffer driver.Buffer
	start  uintptr // address of the buffer's first byte
}

// wrap makes a buffer of the pages that hold mem, which is mapped memory. mem must outlive the buffer.
func (b *Backend) wrap(mem []byte) (view, error) {
	page := uintptr(b.info.PageSize)
	address := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	lead := address % page
	whole := (lead + uintptr(len(mem)) + page - 1) / page * page
	pages := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), -int(lead))), whole)
	buffer, err := b.device.WrapBuffer(pages)
	if err != nil {
		return view{}, fmt.Errorf("metal: wrap %d bytes: %w", len(mem), err)
	}
	return view{buffer, address - lead}, nil
}

// offset is where part begins in the view's buffer. It reports false for memory that does not lie in it, or not within
// the 4 GiB that kernels can address.
func (v view) offset(part []byte) (uint32, bool) {
	if len(part) == 0 || v.buffer == nil {
		return 0, false
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - v.start
	end := uint64(at) + uint64(len(part))
	return uint32(at), end <= uint64(v.buffer.Len()) && end <= math.MaxUint32
}

// A slotMap keeps the buffers around expert slots, by address, until they are dropped, which the runtime asks for
// before the memory behind them changes hands.
type slotMap struct {
	b     *Backend
	views map[*byte]*slotView
}

type slotView struct {
	view
	layer, expert int // whose bytes the device has seen
}

// buffer gives the buffer of a blob. A device with memory of its own is told when the bytes are another expert's.
func (m *slotMap) buffer(blob []byte, layer, expert int) (driver.Buffer, int, error) {
	key := unsafe.SliceData(blob)
	v := m.views[key]
	if v == nil {
		made, err := m.b.wrap(blob)
		if err != nil {
			return nil, 0, err
		}
		v = &slotView{made, layer, expert}
		m.views[key] = v
	}
	at, ok := v.offset(blob)
	if !ok {
		panic("BUG: metal: blobs of different lengths at one address")
	}
	if v.layer != layer || v.expert != expert {
		v.buffer.Modified(int(at), int(at)+len(blob))
		v.layer, v.expert = layer, expert
	}
	return v.buffer, int(at), nil
}

// drop gives all buffers back.
func (m *slotMap) drop() {
	for _, v := range m.views {
		v.buffer.Free()
	}
	clear(m.views)
}
