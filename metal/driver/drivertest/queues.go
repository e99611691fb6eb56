package drivertest

import (
	"time"

	"github.com/fieldfare/fieldfare/metal/driver"
)

func commitOrder(b *bench) {
	add := b.pipeline("add")
	a, c := b.buffer(1000), b.buffer(1000)
	var last driver.CommandBuffer
	for range 20 {
		if last != nil {
			last.Free()
		}
		last = b.commit(driver.Serial, func(e driver.Encoder) { chain(e, add, a, c, func() {}) })
	}
	if err := last.Wait(); err != nil {
		b.Fatal(err)
	}
	last.Free()
	if word(a, 0) != 200 || word(a, 999) != 200 {
		b.Errorf("got %d and %d, want 200", word(a, 0), word(a, 999))
	}
}

func blits(b *bench) {
	from, to := b.buffer(4, 1, 2, 3, 4), b.buffer(4, 9, 9, 9, 9)
	c := must(b.queue.CommandBuffer("blits"))(b)
	e := c.Blit()
	e.Fill(to, 0, 8, 0xff)
	e.Copy(to, 4, from, 8, 8)
	e.End()
	c.Commit()
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
	c.Free()
	b.wantWords(to, 0xffffffff, 3, 4, 9)
}

func gpuWaits(b *bench) {
	add := b.pipeline("add")
	in, out := b.buffer(1, 1), b.buffer(1)
	event := must(b.device.NewEvent())(b)
	defer event.Free()
	c := must(b.queue.CommandBuffer("waits"))(b)
	c.WaitEvent(event, 3)
	e := c.Compute(driver.Serial)
	e.SetPipeline(add)
	e.SetBuffer(0, in, 0)
	e.SetBuffer(1, out, 0)
	e.SetBytes(2, words(1))
	e.Dispatch(driver.D1(1), driver.D1(1))
	e.End()
	c.Commit()
	for _, value := range []uint64{1, 2} {
		event.Set(value)
		time.Sleep(5 * time.Millisecond)
		if c.Passed() {
			b.Fatalf("passed at %d, before 3", value)
		}
	}
	event.Set(3)
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
	c.Free()
	b.wantWords(out, 2)
}

func gpuSignals(b *bench) {
	add := b.pipeline("add")
	in, out := b.buffer(1, 1), b.buffer(1)
	event := must(b.device.NewEvent())(b)
	defer event.Free()
	c := must(b.queue.CommandBuffer("signals"))(b)
	e := c.Compute(driver.Serial)
	e.SetPipeline(add)
	e.SetBuffer(0, in, 0)
	e.SetBuffer(1, out, 0)
	e.SetBytes(2, words(1))
	e.Dispatch(driver.D1(1), driver.D1(1))
	e.End()
	c.SignalEvent(event, 7)
	if event.Value() != 0 {
		b.Error("signalled before commit")
	}
	c.Commit()
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
	c.Free()
	if event.Value() != 7 {
		b.Errorf("the event is %d, want 7", event.Value())
	}
}

func timesAreTold(b *bench) {
	add := b.pipeline("add")
	in, out := b.buffer(1000), b.buffer(1000)
	c := b.commit(driver.Serial, func(e driver.Encoder) { chain(e, add, in, out, func() {}) })
	for deadline := time.Now().Add(time.Minute); !c.Passed(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatal("not passed after a minute")
		}
	}
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
	if start, end := c.Times(); end <= start {
		b.Errorf("from %v to %v", start, end)
	}
	c.Free()
}

func droppedCommandBuffer(b *bench) {
	add := b.pipeline("add")
	in, out := b.buffer(1, 1), b.buffer(1)
	for range 100 { // more than may be under way
		c := must(b.queue.CommandBuffer("dropped"))(b)
		e := c.Compute(driver.Serial)
		e.SetPipeline(add)
		e.SetBuffer(0, in, 0)
		e.SetBuffer(1, out, 0)
		e.SetBytes(2, words(1))
		e.Dispatch(driver.D1(1), driver.D1(1))
		e.End()
		c.Free()
	}
	b.wantWords(out, 0)
}
