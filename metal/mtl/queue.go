package mtl

import (
	"fmt"
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Queue is an id<MTLCommandQueue>. https://developer.apple.com/documentation/metal/mtlcommandqueue
type Queue struct {
	id     uintptr // owned
	device *Device

	mu   sync.Mutex
	free []*CommandBuffer // structs given back, to be used again
}

// Free releases the queue; committed work still runs.
func (q *Queue) Free() { release(q.id) }

// CommandBuffer makes a command buffer, which holds what it uses. It blocks while 64 of them are under way.
// https://developer.apple.com/documentation/metal/mtlcommandqueue/makecommandbuffer()
func (q *Queue) CommandBuffer(label string) (driver.CommandBuffer, error) {
	name := q.device.label(label)
	p := push()
	defer p.drain()
	id := send(q.id, msgCommandBuffer)
	if id == 0 {
		return nil, fmt.Errorf("make command buffer %q: %w", label, driver.ErrOutOfMemory)
	}
	sendWord(id, msgCommandLabel, name)
	b := q.take()
	b.id, b.label, b.queue = retain(id), label, q
	return b, nil
}

func (q *Queue) take() *CommandBuffer {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.free); n > 0 {
		b := q.free[n-1]
		q.free = q.free[:n-1]
		return b
	}
	return new(CommandBuffer)
}

// CommandBuffer is an id<MTLCommandBuffer>. https://developer.apple.com/documentation/metal/mtlcommandbuffer
type CommandBuffer struct {
	id    uintptr // owned; 0 after Free
	label string
	queue *Queue

	encoder Encoder
	blit    BlitEncoder
}

// SignalEvent sets e when everything before is complete.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/encodesignalevent(_:value:)
func (b *CommandBuffer) SignalEvent(e driver.Event, value uint64) {
	send(b.id, msgSignalEvent, e.(*Event).id, uintptr(value))
}

// WaitEvent holds what follows back until e has reached value.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/encodewaitforevent(_:value:)
func (b *CommandBuffer) WaitEvent(e driver.Event, value uint64) {
	send(b.id, msgWaitEvent, e.(*Event).id, uintptr(value))
}

// Commit sends the work to the GPU.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/commit()
func (b *CommandBuffer) Commit() {
	p := push()
	send(b.id, msgCommit)
	p.drain()
}

// Passed tells whether the work is over. https://developer.apple.com/documentation/metal/mtlcommandbuffer/status
func (b *CommandBuffer) Passed() bool { return send(b.id, msgStatus) >= commandBufferStatusCompleted }

// Wait blocks until the work is over and returns its error.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/waituntilcompleted()
func (b *CommandBuffer) Wait() error {
	p := push()
	defer p.drain()
	send(b.id, msgWaitCompleted)
	if send(b.id, msgStatus) != commandBufferStatusError {
		return nil
	}
	e := readError(send(b.id, msgCommandError))
	return fmt.Errorf("command buffer %q: %w: %v", b.label, e.kind(), e)
}

// Times gives the GPU's own start and end.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/gpustarttime
func (b *CommandBuffer) Times() (start, end time.Duration) {
	if !b.Passed() {
		return 0, 0
	}
	seconds := func(m *message) time.Duration {
		return time.Duration(c.sendForFloat(b.id, m.sel) * float64(time.Second))
	}
	return seconds(msgStartTime), seconds(msgEndTime)
}

// Free releases the command buffer and gives its struct to the queue's next one.
func (b *CommandBuffer) Free() {
	if b.id == 0 {
		panic("BUG: mtl: command buffer freed twice")
	}
	release(b.id)
	b.id = 0
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	b.queue.free = append(b.queue.free, b)
}
