package mtl

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Device is an id<MTLDevice>. https://developer.apple.com/documentation/metal/mtldevice
type Device struct {
	id   uintptr // owned
	info driver.Info

	mu     sync.Mutex
	labels map[string]uintptr // NSStrings, owned
}

var _ driver.Device = (*Device)(nil)

// newDevice takes over the caller's reference to id.
func newDevice(id uintptr) *Device {
	most := c.sendForSize(id, msgMaxThreads.sel)
	d := &Device{id: id, labels: map[string]uintptr{}, info: driver.Info{
		Name:                 goString(send(id, msgName)),
		Metal3:               sendForBool(id, msgSupportsFamily, gpuFamilyMetal3),
		Metal4:               sendForBool(id, msgSupportsFamily, gpuFamilyMetal4),
		UnifiedMemory:        sendForBool(id, msgUnifiedMemory),
		MaxThreads:           int(most.width),
		MaxThreadsAxis:       driver.D3(int(most.width), int(most.height), int(most.depth)),
		MaxThreadgroupMemory: int(send(id, msgMaxThreadgroup)),
		MaxBuffer:            int64(send(id, msgMaxBuffer)),
		WorkingSet:           int64(send(id, msgWorkingSet)),
		PageSize:             os.Getpagesize(),
	}}
	for family := gpuFamilyApple1; family <= gpuFamilyApple10; family++ {
		if sendForBool(id, msgSupportsFamily, uintptr(family)) {
			d.info.AppleFamily = family - gpuFamilyApple1 + 1
		}
	}
	return d
}

// Info describes the device.
func (d *Device) Info() driver.Info { return d.info }

// Close releases the device. All objects made from it must have been given back.
func (d *Device) Close() error {
	for _, s := range d.labels {
		release(s)
	}
	release(d.id)
	d.id, d.labels = 0, nil
	return nil
}

// label gives the NSString of a label, made once.
func (d *Device) label(text string) uintptr {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.labels[text]
	if !ok {
		s = newString(text)
		d.labels[text] = s
	}
	return s
}

// NewBuffer allocates shared memory.
// https://developer.apple.com/documentation/metal/mtldevice/makebuffer(length:options:)
func (d *Device) NewBuffer(n int) (driver.Buffer, error) {
	if n < 1 || int64(n) > d.info.MaxBuffer {
		return nil, fmt.Errorf("allocate a buffer of %d bytes: %w: 1 to %d allowed", n, driver.ErrOutOfMemory,
			d.info.MaxBuffer)
	}
	p := push()
	defer p.drain()
	id := send(d.id, msgNewBuffer, uintptr(n), resourceStorageModeShared)
	if id == 0 {
		return nil, fmt.Errorf("allocate a buffer of %d bytes: %w", n, driver.ErrOutOfMemory)
	}
	return &Buffer{id: id, bytes: unsafe.Slice((*byte)(pointer(send(id, msgContents))), n)}, nil
}

// WrapBuffer shares mem with the GPU in place.
// https://developer.apple.com/documentation/metal/mtldevice/makebuffer(bytesnocopy:length:options:deallocator:)
func (d *Device) WrapBuffer(mem []byte) (driver.Buffer, error) {
	address := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	page := uintptr(d.info.PageSize)
	if len(mem) == 0 || address%page != 0 || uintptr(len(mem))%page != 0 {
		return nil, fmt.Errorf("wrap %d bytes at %#x: not whole pages of %d bytes", len(mem), address, page)
	}
	p := push()
	defer p.drain()
	id := send(d.id, msgWrapBuffer, address, uintptr(len(mem)), resourceStorageModeShared, 0)
	if id == 0 {
		return nil, fmt.Errorf("wrap %d bytes: %w", len(mem), driver.ErrOutOfMemory)
	}
	return &Buffer{id: id, bytes: mem}, nil
}

// NewEvent makes a shared event.
// https://developer.apple.com/documentation/metal/mtldevice/makesharedevent()
func (d *Device) NewEvent() (driver.Event, error) {
	p := push()
	defer p.drain()
	id := send(d.id, msgNewEvent)
	if id == 0 {
		return nil, fmt.Errorf("make a shared event: %w", driver.ErrOutOfMemory)
	}
	return &Event{id: id}, nil
}

// NewQueue makes a command queue.
// https://developer.apple.com/documentation/metal/mtldevice/makecommandqueue()
func (d *Device) NewQueue() (driver.Queue, error) {
	p := push()
	defer p.drain()
	id := send(d.id, msgNewQueue)
	if id == 0 {
		return nil, fmt.Errorf("make a command queue: %w", driver.ErrOutOfMemory)
	}
	return &Queue{id: id, device: d}, nil
}
