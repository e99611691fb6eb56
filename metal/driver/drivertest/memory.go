package drivertest

import (
	"errors"

	"github.com/fieldfare/fieldfare/metal/driver"
)

func infoIsFilledIn(b *bench) {
	i := b.device.Info()
	if i.Name == "" || i.MaxThreads < 32 || i.MaxThreadsAxis.X < 32 || i.MaxThreadgroupMemory < 16384 ||
		i.MaxBuffer < 1<<20 || i.WorkingSet < 1<<20 || i.PageSize < 4096 {
		b.Errorf("%+v", i)
	}
}

func buffersKeepBytes(b *bench) {
	for _, n := range []int{1, 3, 4096, 4097, 100_000} {
		m := must(b.device.NewBuffer(n))(b)
		m.SetLabel("kept")
		if m.Len() != n || len(m.Bytes()) != n {
			b.Errorf("asked for %d bytes, got %d and %d", n, m.Len(), len(m.Bytes()))
		}
		for i, v := range m.Bytes() {
			if v != 0 {
				b.Fatalf("byte %d of %d is %d, not 0", i, n, v)
			}
		}
		m.Bytes()[n-1] = 7
		if m.Bytes()[n-1] != 7 {
			b.Error("the last byte did not stay")
		}
		m.Free()
	}
}

func badSizesAreRefused(b *bench) {
	for _, n := range []int{0, -1, int(b.device.Info().MaxBuffer) + 1} {
		if _, err := b.device.NewBuffer(n); !errors.Is(err, driver.ErrOutOfMemory) {
			b.Errorf("%d bytes: got %v", n, err)
		}
	}
}

func wrappedMemoryIsRead(b *bench) {
	mem := pages(b, 2*b.device.Info().PageSize)
	copy(mem, words(5, 6, 7))
	wrapped := must(b.device.WrapBuffer(mem))(b)
	b.Cleanup(wrapped.Free)
	out := b.buffer(3)
	add := b.pipeline("add")
	run := func(offset int) {
		b.run(driver.Serial, func(e driver.Encoder) {
			e.SetPipeline(add)
			e.SetBuffer(0, wrapped, offset)
			e.SetBuffer(1, out, 0)
			e.SetBytes(2, words(100))
			e.Dispatch(driver.D1(3), driver.D1(32))
		})
	}
	run(0)
	b.wantWords(out, 105, 106, 107)
	copy(mem[4096:], words(8, 9, 10))
	wrapped.Modified(4096, 4096+12)
	run(4096)
	b.wantWords(out, 108, 109, 110)
}

func oddMemoryIsRefused(b *bench) {
	mem := pages(b, b.device.Info().PageSize)
	for _, odd := range [][]byte{nil, mem[:100], mem[8:]} {
		if _, err := b.device.WrapBuffer(odd); err == nil {
			b.Errorf("%d bytes were wrapped", len(odd))
		}
	}
}

func freedBufferLivesOn(b *bench) {
	add := b.pipeline("add")
	out := b.buffer(1)
	for range 10 {
		in := must(b.device.NewBuffer(4))(b)
		copy(in.Bytes(), words(41))
		c := b.commit(driver.Serial, func(e driver.Encoder) {
			e.SetPipeline(add)
			e.SetBuffer(0, in, 0)
			e.SetBuffer(1, out, 0)
			e.SetBytes(2, words(1))
			e.Dispatch(driver.D1(1), driver.D1(1))
		})
		in.Free()
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
		c.Free()
	}
	b.wantWords(out, 42)
}
