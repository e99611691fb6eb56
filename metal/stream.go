package metal

import (
	"fmt"
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// Stats counts what was queued and waited for.
type Stats struct {
	CommandBuffers, Dispatches int
	// Waits counts the times that the CPU waited for the GPU, WaitTime adds them up.
	Waits    int
	WaitTime time.Duration
	// GPUTime is how long command buffers ran, by the device's clock.
	GPUTime time.Duration
}

// add sums up.
func (s *Stats) add(o Stats) {
	s.CommandBuffers += o.CommandBuffers
	s.Dispatches += o.Dispatches
	s.Waits += o.Waits
	s.WaitTime += o.WaitTime
	s.GPUTime += o.GPUTime
}

// Sub returns s minus earlier, for the work between two readings.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		s.CommandBuffers - earlier.CommandBuffers, s.Dispatches - earlier.Dispatches, s.Waits - earlier.Waits,
		s.WaitTime - earlier.WaitTime, s.GPUTime - earlier.GPUTime,
	}
}

// A stream collects dispatches in an open command buffer and commits it. Encoders never stay open between calls from
// outside: an encoder holds its thread. Used by one goroutine at a time.
//
// An error sticks: what follows failed work reads garbage, so the first failure is what every wait returns until reset.
type stream struct {
	queue   driver.Queue
	label   string // of command buffers that are opened from now on
	open    driver.CommandBuffer
	encoder driver.Encoder
	flying  []*ticket // committed, not known to be over, in order
	err     error
	stats   Stats // since the last wait
	total   *totals
}

// totals are the stats of all streams of a backend.
type totals struct {
	mu    sync.Mutex
	stats Stats
}

// compute returns the open encoder, or opens one.
func (s *stream) compute() driver.Encoder {
	if s.encoder == nil && s.begin() {
		s.encoder = s.open.Compute(driver.Serial)
	}
	return s.encoder
}

// begin opens a command buffer unless one is open. It reports false when that failed.
func (s *stream) begin() bool {
	if s.open != nil {
		return true
	}
	cb, err := s.queue.CommandBuffer(s.label)
	if err != nil {
		s.fail(err)
		return false
	}
	s.open = cb
	return true
}

// endEncoder closes the open encoder; the command buffer stays open.
func (s *stream) endEncoder() {
	if s.encoder != nil {
		s.encoder.End()
		s.encoder = nil
	}
}

// copyRows encodes copies between buffers.
func (s *stream) copyRows(copies ...copyRange) {
	s.endEncoder()
	if !s.begin() {
		return
	}
	e := s.open.Blit()
	for _, c := range copies {
		e.Copy(c.dst, c.dstOffset, c.src, c.srcOffset, c.n)
	}
	e.End()
}

type copyRange struct {
	dst, src                driver.Buffer
	dstOffset, srcOffset, n int
}

// An argument is one binding of a dispatch: a buffer from an offset on, or bytes.
type argument struct {
	buffer driver.Buffer
	offset int
	bytes  []byte
}

func in(b driver.Buffer) argument               { return argument{buffer: b} }
func inAt(b driver.Buffer, offset int) argument { return argument{buffer: b, offset: offset} }
func inBytes(p []byte) argument                 { return argument{bytes: p} }

// dispatch runs k on threadgroups; args are in the order of the table.
func (s *stream) dispatch(k *kernel, groups driver.Size, args ...argument) {
	s.encode(k, driver.Groups(groups, driver.D1(k.spec.Threads)), driver.D1(k.spec.Threads), args)
}

// dispatchThreads runs k, whose threads work alone, on a grid of threads.
func (s *stream) dispatchThreads(k *kernel, grid driver.Size, args ...argument) {
	s.encode(k, grid, driver.D1(min(grid.X, 256, k.pipeline.MaxThreads())), args)
}

func (s *stream) encode(k *kernel, grid, group driver.Size, args []argument) {
	if len(args) != len(k.spec.Buffers) {
		panic(fmt.Sprintf("BUG: metal: %d arguments for kernel %s, which has %d", len(args), k.spec.Name, len(k.spec.Buffers)))
	}
	e := s.compute()
	if e == nil {
		return
	}
	e.SetPipeline(k.pipeline)
	for i := range args {
		if a := &args[i]; a.bytes != nil {
			e.SetBytes(i, a.bytes)
		} else {
			e.SetBuffer(i, a.buffer, a.offset)
		}
	}
	e.Dispatch(grid, group)
	s.stats.Dispatches++
}

// threadgroupMemory sizes [[threadgroup(0)]] of the next dispatch.
func (s *stream) threadgroupMemory(n int) {
	if e := s.compute(); e != nil {
		e.SetThreadgroupMemory(0, (n+15)&^15)
	}
}

// commit sends what is open to the device and returns its ticket: that of the last commit when nothing was open, nil
// when nothing is under way.
func (s *stream) commit() *ticket {
	s.endEncoder()
	if s.open == nil {
		if n := len(s.flying); n > 0 {
			return s.flying[n-1]
		}
		return nil
	}
	s.open.Commit()
	s.stats.CommandBuffers++
	t := &ticket{cb: s.open}
	s.open = nil
	s.flying = append(s.flying, t)
	return t
}

// wait commits and waits for all that was committed, and returns the first failure.
func (s *stream) wait() error {
	if t := s.commit(); t != nil {
		from := time.Now()
		t.Wait() // command buffers of a queue are over in order
		s.stats.Waits++
		s.stats.WaitTime += time.Since(from)
	}
	for _, t := range s.flying {
		t.Wait()
		s.fail(t.err)
		s.stats.GPUTime += t.took
	}
	s.flying = s.flying[:0]
	s.total.mu.Lock()
	s.total.stats.add(s.stats)
	s.total.mu.Unlock()
	s.stats = Stats{}
	return s.err
}

// fail keeps the first failure.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// reset waits for all work and forgets a failure, which it returns.
func (s *stream) reset() error {
	err := s.wait()
	s.err = nil
	return err
}
