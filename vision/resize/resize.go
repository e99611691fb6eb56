// Package resize brings RGB rows to the size that the image tower expects, with the pixels of the reference
// processors: the target size from the soft-token budget, then antialiased bicubic in exact integer arithmetic.
//
// It refuses to know file formats, decoders and patches. Rows come in one at a time in the order in which a file
// stores them; orientation is undone on the way, so neither the source nor the turned picture is ever held whole.
// Start reading at Target, then Rows.
package resize

import (
	"errors"
	"fmt"
)

// Filter names one of the two integer forms of the reference's bicubic filter. They differ by at most two levels.
type Filter int

const (
	Torchvision Filter = iota // default: 16-bit weights with a precision chosen per axis
	// Pillow has 22-bit weights and filters rows first, as Pillow does up to 12.3; 13.0 sometimes filters columns
	// first, which moves sharp edges by more.
	Pillow
)

// String is the name used by flags and reports.
func (f Filter) String() string {
	switch f {
	case Torchvision:
		return "torchvision"
	case Pillow:
		return "pillow"
	}
	return fmt.Sprintf("filter(%d)", int(f))
}

// ErrFilter: no filter has that name.
var ErrFilter = errors.New("unknown resize filter")

// ParseFilter is the inverse of Filter.String.
func ParseFilter(name string) (Filter, error) {
	for _, f := range []Filter{Torchvision, Pillow} {
		if name == f.String() {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%w %q: expected torchvision or pillow", ErrFilter, name)
}

// Turn says how the rows of a file become the picture that people see. The pixel of the seen picture at (x, y) is
// the stored one at (x, y), or at (y, x) if Transpose, counted from the right if FlipX and from below if FlipY.
// Flips are those of the stored axes.
type Turn struct {
	Transpose, FlipX, FlipY bool
}

// A Source yields the rows of a picture from top to bottom as they are stored.
type Source interface {
	// ReadRow fills dst, [width*3] R G B, with the next row.
	ReadRow(dst []byte) error
}

// Rows reads the height rows of a width by height picture from src, turns and resizes them, and returns the result,
// [tall, wide, 3], where wide by tall is the size after turning. Memory beyond the result: as many rows as the
// filter reaches at once. Errors are those of src.
func Rows(src Source, width, height int, turn Turn, wide, tall int, f Filter) ([]byte, error) {
	if width <= 0 || height <= 0 || wide <= 0 || tall <= 0 {
		panic(fmt.Sprintf("BUG: resize %dx%d to %dx%d", width, height, wide, tall))
	}
	dst := make([]byte, wide*tall*3)
	if turn.Transpose {
		across := newAxis(height, wide, turn.FlipY, f)
		down := newAxis(width, tall, turn.FlipX, f)
		return dst, transposed(dst, src, width, across, down)
	}
	across := newAxis(width, wide, turn.FlipX, f)
	down := newAxis(height, tall, turn.FlipY, f)
	return dst, upright(dst, src, across, down)
}

// upright filters each row as it comes, then down the columns.
func upright(dst []byte, src Source, across, down *axis) error {
	raw := make([]byte, across.in*3)
	stride := across.out * 3
	columns := newColumns(down, stride)
	for y := range down.in {
		if err := src.ReadRow(raw); err != nil {
			return err
		}
		across.filterRow(columns.slot(y), raw)
		columns.emit(y, func(i int) []byte { return dst[i*stride:][:stride] }, nil)
	}
	return nil
}

// transposed does the same for a picture that lies on its side: what people see as a row is a stored column. The
// reference filters seen rows first, so here the columns go first, and each filtered line becomes a column of dst.
func transposed(dst []byte, src Source, width int, across, down *axis) error {
	line := make([]byte, width*3)
	seen := make([]byte, down.out*3)
	columns := newColumns(across, width*3)
	for y := range across.in {
		if err := src.ReadRow(columns.slot(y)); err != nil {
			return err
		}
		columns.emit(y, func(int) []byte { return line }, func(i int) {
			down.filterRow(seen, line)
			for j := range down.out {
				copy(dst[(j*across.out+i)*3:][:3], seen[j*3:][:3])
			}
		})
	}
	return nil
}

// columns applies an axis down a stream of rows. It keeps as many rows as one output reaches.
type columns struct {
	a      *axis
	stride int
	ring   []byte
	sums   []int32
	next   int // how many outputs have been emitted
}

func newColumns(a *axis, stride int) *columns {
	return &columns{a: a, stride: stride, ring: make([]byte, a.reach*stride), sums: make([]int32, stride)}
}

// slot is where row y belongs until row y+reach takes its place.
func (c *columns) slot(y int) []byte {
	return c.ring[y%c.a.reach*c.stride:][:c.stride]
}

// emit computes every output whose last row is y. into gives the place for output i; after, if set, is called when
// it is filled.
func (c *columns) emit(y int, into func(i int) []byte, after func(i int)) {
	for c.next < c.a.out {
		i := c.a.order(c.next)
		lo, weights := c.a.taps(i)
		if lo+len(weights) > y+1 {
			return
		}
		c.sum(into(i), lo, weights)
		if after != nil {
			after(i)
		}
		c.next++
	}
}

func (c *columns) sum(dst []byte, lo int, weights []int32) {
	if c.a.same {
		copy(dst, c.slot(lo))
		return
	}
	sums := c.sums
	for k := range sums {
		sums[k] = c.a.half
	}
	for j, w := range weights {
		row := c.slot(lo + j)[:len(sums)]
		for k, v := range row {
			sums[k] += w * int32(v)
		}
	}
	dst = dst[:len(sums)]
	for k, s := range sums {
		dst[k] = clamp(s >> c.a.shift)
	}
}

func clamp(v int32) byte {
	return byte(min(max(v, 0), 255))
}
