package cuda

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Queue runs command buffers on a goroutine of its own, one after the other.
type Queue struct {
	device *Device
	worker *worker
	params uintptr // bytes bound by value, sent once per command buffer
	room   int
}

// NewQueue makes a queue.
func (d *Device) NewQueue() (driver.Queue, error) {
	return &Queue{device: d, worker: d.newWorker()}, nil
}

// Free ends the queue after its work.
func (q *Queue) Free() {
	q.worker.work <- func() {
		if q.params != 0 {
			cu.MemFree(q.params)
		}
	}
	q.worker.stop()
}

// CommandBuffer makes an empty command buffer.
func (q *Queue) CommandBuffer(label string) (driver.CommandBuffer, error) {
	return &CommandBuffer{queue: q, label: label, used: map[*Buffer]bool{}, done: make(chan struct{})}, nil
}

// CommandBuffer is a list of steps. Only steps between waits for events run back to back on the GPU.
type CommandBuffer struct {
	queue *Queue
	label string
	steps []func() error
	used  map[*Buffer]bool // true: may be written
	bytes []byte           // bound by value

	over       atomic.Bool
	done       chan struct{}
	err        error
	start, end time.Duration
}

func (b *CommandBuffer) add(step func() error) { b.steps = append(b.steps, step) }

// use notes that the work reads, or may write, a buffer.
func (b *CommandBuffer) use(m *Buffer, written bool) {
	if _, seen := b.used[m]; !seen {
		m.retain()
	}
	b.used[m] = b.used[m] || written
}

// SignalEvent sets e after the steps before.
func (b *CommandBuffer) SignalEvent(e driver.Event, value uint64) {
	b.add(func() error {
		err := b.fetch()
		e.Set(value)
		return err
	})
}

// WaitEvent holds the steps that follow back. What the steps before wrote is fetched first: what the CPU writes
// meanwhile is sent after, and must not bring old bytes along.
func (b *CommandBuffer) WaitEvent(e driver.Event, value uint64) {
	b.add(func() error {
		if err := b.fetch(); err != nil {
			return err
		}
		e.(*Event).wait(value)
		return b.send()
	})
}

// Commit hands the steps to the queue's goroutine.
func (b *CommandBuffer) Commit() {
	b.queue.worker.work <- func() {
		b.err = b.run()
		for m := range b.used {
			m.release()
		}
		b.over.Store(true)
		close(b.done)
	}
}

// Passed tells whether the work is over.
func (b *CommandBuffer) Passed() bool { return b.over.Load() }

// Wait blocks until the work is over and returns its error.
func (b *CommandBuffer) Wait() error {
	<-b.done
	if b.err != nil {
		return fmt.Errorf("command buffer %q: %w", b.label, b.err)
	}
	return nil
}

// Times gives the GPU's time between the first step and the last, copies of memory left out; start is always 0.
func (b *CommandBuffer) Times() (start, end time.Duration) {
	if !b.Passed() {
		return 0, 0
	}
	return b.start, b.end
}

// Free does nothing: the command buffer is Go memory.
func (b *CommandBuffer) Free() {}

func (b *CommandBuffer) run() error {
	if err := b.send(); err != nil {
		return err
	}
	if err := b.queue.sendParams(b.bytes); err != nil {
		return err
	}
	var first, last uintptr
	if err := check("make events", cu.EventCreate(&first, 0), cu.EventCreate(&last, 0)); err != nil {
		return err
	}
	defer cu.EventDestroy(first)
	defer cu.EventDestroy(last)
	cu.EventRecord(first, 0)
	for _, step := range b.steps {
		if err := step(); err != nil {
			return err
		}
	}
	cu.EventRecord(last, 0)
	if err := check("run", cu.CtxSynchronize()); err != nil {
		return err
	}
	var milliseconds float32
	cu.EventElapsedTime(&milliseconds, first, last)
	b.end = time.Duration(float64(milliseconds) * float64(time.Millisecond))
	return b.fetch()
}

// send brings the GPU's copies of what the work uses up to date.
func (b *CommandBuffer) send() error {
	for m := range b.used {
		if err := m.send(); err != nil {
			return err
		}
	}
	return nil
}

// fetch waits for the GPU and brings the CPU's copies of what the work may write up to date.
func (b *CommandBuffer) fetch() error {
	if err := check("run", cu.CtxSynchronize()); err != nil {
		return err
	}
	for m, written := range b.used {
		if !written {
			continue
		}
		if err := m.fetch(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) sendParams(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if len(p) > q.room {
		if q.params != 0 {
			cu.MemFree(q.params)
		}
		q.room = 2 * len(p)
		if err := check("allocate parameters", cu.MemAlloc(&q.params, uintptr(q.room))); err != nil {
			q.params, q.room = 0, 0
			return err
		}
	}
	return check("send parameters", cu.MemcpyHtoD(q.params, unsafe.Pointer(&p[0]), uintptr(len(p))))
}
