package drivertest

import "github.com/fieldfare/fieldfare/metal/driver"

func partialThreadgroups(b *bench) {
	area := b.pipeline("area")
	for _, grid := range []driver.Size{driver.D2(1, 1), driver.D2(31, 3), driver.D2(32, 4), driver.D2(33, 5)} {
		out := b.buffer((grid.Y + 1) * grid.X)
		b.run(driver.Serial, func(e driver.Encoder) {
			e.SetPipeline(area)
			e.SetBuffer(0, out, 0)
			e.SetBytes(1, words(uint32(grid.X)))
			e.Dispatch(grid, driver.D2(32, 2))
		})
		for y := range grid.Y + 1 {
			for x := range grid.X {
				want := uint32(1 + x + 1000*y)
				if y == grid.Y {
					want = 0 // nothing may be written behind the grid
				}
				if got := word(out, y*grid.X+x); got != want {
					b.Fatalf("grid %v: (%d, %d) is %d, want %d", grid, x, y, got, want)
				}
			}
		}
	}
}

func bytesAreCopied(b *bench) {
	add := b.pipeline("add")
	in, out := b.buffer(1, 1), b.buffer(1)
	n := words(10)
	b.run(driver.Serial, func(e driver.Encoder) {
		e.SetPipeline(add)
		e.SetBuffer(0, in, 0)
		e.SetBuffer(1, out, 0)
		e.SetBytes(2, n)
		n[0] = 99
		e.Dispatch(driver.D1(1), driver.D1(1))
	})
	b.wantWords(out, 11)
}

func offsetsMoveBinding(b *bench) {
	add := b.pipeline("add")
	in, out := b.buffer(4, 1, 2, 3, 4), b.buffer(4)
	b.run(driver.Serial, func(e driver.Encoder) {
		e.SetPipeline(add)
		e.SetBytes(2, words(10))
		for i := range 2 {
			e.SetBuffer(0, in, 8*i)
			e.SetBuffer(1, out, 8-8*i)
			e.Dispatch(driver.D1(2), driver.D1(32))
		}
	})
	b.wantWords(out, 13, 14, 11, 12)
}

func settingsStay(b *bench) {
	add := b.pipeline("add")
	in, first, second := b.buffer(1, 1), b.buffer(1), b.buffer(1)
	b.run(driver.Serial, func(e driver.Encoder) {
		e.SetPipeline(add)
		e.SetBuffer(0, in, 0)
		e.SetBuffer(1, first, 0)
		e.SetBuffer(2, in, 0) // a buffer and bytes take turns at one index
		e.Dispatch(driver.D1(1), driver.D1(1))
		e.SetBuffer(1, second, 0)
		e.SetBytes(2, words(30))
		e.Dispatch(driver.D1(1), driver.D1(1))
		e.SetBuffer(2, in, 0)
		e.SetBuffer(1, first, 0)
		e.SetBuffer(0, second, 0)
		e.Dispatch(driver.D1(1), driver.D1(1))
	})
	b.wantWords(first, 32)
	b.wantWords(second, 31)
}

func threadgroupMemory(b *bench) {
	turn := b.pipeline("turn")
	in, out := b.buffer(8, 1, 2, 3, 4, 5, 6, 7, 8), b.buffer(8)
	b.run(driver.Serial, func(e driver.Encoder) {
		e.SetPipeline(turn)
		e.SetBuffer(0, in, 0)
		e.SetBuffer(1, out, 0)
		e.SetThreadgroupMemory(0, 16)
		e.Dispatch(driver.D1(8), driver.D1(4))
	})
	b.wantWords(out, 4, 3, 2, 1, 8, 7, 6, 5)
}

// chain encodes ten additions to m, each of which reads what the one before wrote.
func chain(e driver.Encoder, add driver.Pipeline, a, c driver.Buffer, between func()) {
	e.SetPipeline(add)
	e.SetBytes(2, words(1))
	for range 5 {
		e.SetBuffer(0, a, 0)
		e.SetBuffer(1, c, 0)
		e.Dispatch(driver.D1(1000), driver.D1(64))
		between()
		e.SetBuffer(0, c, 0)
		e.SetBuffer(1, a, 0)
		e.Dispatch(driver.D1(1000), driver.D1(64))
		between()
	}
}

func serialOrder(b *bench) {
	add := b.pipeline("add")
	a, c := b.buffer(1000), b.buffer(1000)
	b.run(driver.Serial, func(e driver.Encoder) { chain(e, add, a, c, func() {}) })
	if word(a, 0) != 10 || word(a, 999) != 10 {
		b.Errorf("got %d and %d, want 10", word(a, 0), word(a, 999))
	}
}

func barrierOrders(b *bench) {
	add := b.pipeline("add")
	a, c := b.buffer(1000), b.buffer(1000)
	b.run(driver.Concurrent, func(e driver.Encoder) { chain(e, add, a, c, e.Barrier) })
	if word(a, 0) != 10 || word(a, 999) != 10 {
		b.Errorf("got %d and %d, want 10", word(a, 0), word(a, 999))
	}
}
