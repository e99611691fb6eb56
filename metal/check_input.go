package metal

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
	"github.com/fieldfare/fieldfare/metal/driver"
	"github.com/fieldfare/fieldfare/shaders"
)

// A checker makes inputs, runs c.k and keeps the largest distance. The first error stops the rest.
type checker struct {
	b       *Backend
	k       *kernel
	s       stream
	rng     *rand.Rand
	full    bool
	buffers []driver.Buffer
	off     float64
	limit   float64
	err     error
}

func (c *checker) free() {
	for _, b := range c.buffers {
		b.Free()
	}
}

// size picks between the dimension of a small and of a full check.
func (c *checker) size(small, full int) int {
	if c.full {
		return full
	}
	return small
}

// sizes picks between dimensions alike.
func (c *checker) sizes(small, full []int) []int {
	if c.full {
		return full
	}
	return small
}

// buffer makes a buffer of n bytes, at least a few.
func (c *checker) buffer(n int) driver.Buffer {
	b, err := c.b.device.NewBuffer(max(n, 16))
	if err != nil {
		c.err = errors.Join(c.err, err)
		b = hostBuffer(make([]byte, max(n, 16))) // keeps the check going to its end, where c.err counts
	} else {
		c.buffers = append(c.buffers, b)
	}
	return b
}

// random makes n normal floats of the given spread.
func (c *checker) random(n int, spread float64) (driver.Buffer, []float32) {
	b := c.buffer(4 * n)
	x := floats(b)[:n]
	for i := range x {
		x[i] = float32(c.rng.NormFloat64() * spread)
	}
	return b, x
}

// unwritten makes n floats that are no numbers.
func (c *checker) unwritten(n int) (driver.Buffer, []float32) {
	b := c.buffer(4 * n)
	x := floats(b)[:n]
	for i := range x {
		x[i] = float32(math.NaN())
	}
	return b, x
}

// run dispatches k on threadgroups and waits.
func (c *checker) run(k *kernel, groups driver.Size, args ...argument) {
	if c.err == nil {
		c.s.dispatch(k, groups, args...)
		c.err = c.s.wait()
	}
}

func (c *checker) runThreads(k *kernel, grid driver.Size, args ...argument) {
	if c.err == nil {
		c.s.dispatchThreads(k, grid, args...)
		c.err = c.s.wait()
	}
}

// near notes how far got is from want, in units of magnitude.
func (c *checker) near(got float32, want, magnitude float64) {
	if d := math.Abs(float64(got)-want) / (magnitude + 1e-30); !(d <= c.off) {
		c.off = d
	}
}

// A tensors hands out places in one buffer of weights, every other time at an address that is no multiple of 4.
type tensors struct {
	c      *checker
	buffer driver.Buffer
	used   int
}

func (c *checker) tensors(size int) *tensors { return &tensors{c: c, buffer: c.buffer(size + 4096)} }

func (t *tensors) take(n int) (at int, part []byte) {
	t.used = (t.used+1)&^1 + 2
	at = t.used
	t.used += n
	return at, t.buffer.Bytes()[at : at+n : at+n]
}

// vector makes n bf16 values around mean and returns their place, in elements, and their values.
func (t *tensors) vector(n int, mean, spread float64) (uint32, []float64) {
	at, part := t.take(2 * n)
	values := make([]float64, n)
	for i := range values {
		bits := bf16.Bits(float32(mean + spread*t.c.rng.NormFloat64()))
		part[2*i], part[2*i+1] = byte(bits), byte(bits>>8)
		values[i] = float64(bf16.Float32(bits))
	}
	return u32(at / 2), values
}

// affine makes a matrix whose weights have standard deviation about 1/sqrt(in).
func (t *tensors) affine(out, in, bits int) (shaders.Matrix, core.Affine) {
	w := core.Affine{Out: out, In: in, Bits: bits}
	var m shaders.Matrix
	place := func(n int, part *[]byte) uint32 {
		at, b := t.take(n)
		*part = b
		return u32(at)
	}
	groups := out * in / groupSize
	m.Codes, m.Scales, m.Biases = place(out*in*bits/8, &w.Codes), place(2*groups, &w.Scales), place(2*groups, &w.Biases)
	for i := range w.Codes {
		w.Codes[i] = byte(t.c.rng.Uint32())
	}
	top := float64(int(1)<<bits - 1)
	for g := range groups {
		s := math.Sqrt(12/float64(in)) / top * (0.5 + t.c.rng.Float64()) * float64(1-2*t.c.rng.IntN(2))
		putBF16(w.Scales[2*g:], s)
		putBF16(w.Biases[2*g:], -s*top/2*(0.8+0.4*t.c.rng.Float64()))
	}
	return m, w
}

func putBF16(dst []byte, v float64) {
	bits := bf16.Bits(float32(v))
	dst[0], dst[1] = byte(bits), byte(bits>>8)
}

func bf16At(v []byte, i int) float64 {
	return float64(bf16.Float32(uint16(v[2*i]) | uint16(v[2*i+1])<<8))
}

// hostBuffer stands in where the device has no memory left.
type hostBuffer []byte

func (b hostBuffer) Len() int          { return len(b) }
func (b hostBuffer) Bytes() []byte     { return b }
func (b hostBuffer) Modified(_, _ int) {}
func (b hostBuffer) SetLabel(string)   {}
func (b hostBuffer) Free()             {}
