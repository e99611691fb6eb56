package picture

import (
	"compress/lzw"
	"fmt"
	"io"
)

func openGIF(_ []byte, h *Header, frame int) (rows, error) {
	f := h.parsed.(*gifFile)
	if one := &f.frames[0]; len(f.frames) == 1 && one.width == h.Width && one.height == h.Height {
		return newGIFRows(one)
	}
	return compose(h, frame, func(i int) (layer, error) {
		g := &f.frames[i]
		r, err := newGIFRows(g)
		return layer{x: g.x, y: g.y, width: g.width, height: g.height, rows: r, over: true, after: g.after}, err
	})
}

// gifRows yields the rows of one frame.
type gifRows struct {
	f       *gifFrame
	packed  io.Reader
	indices []byte // one row, or the whole frame if it is interlaced
	y       int
}

func newGIFRows(f *gifFrame) (*gifRows, error) {
	if size := f.data[0]; size < 2 || size > 8 {
		return nil, fmt.Errorf("%w: GIF code size %d, expected 2 to 8", ErrDamaged, size)
	}
	if f.palette == nil {
		return nil, fmt.Errorf("%w: GIF without a palette", ErrDamaged)
	}
	r := &gifRows{f: f, packed: lzw.NewReader(&gifBlocks{left: f.data[1:]}, lzw.LSB, int(f.data[0]))}
	r.indices = make([]byte, f.width)
	if f.interlaced {
		r.indices = make([]byte, f.width*f.height)
		return r, r.fill(r.indices)
	}
	return r, nil
}

func (r *gifRows) fill(dst []byte) error {
	_, err := io.ReadFull(r.packed, dst)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fmt.Errorf("%w: GIF data ends in row %d of %d", ErrTruncated, r.y, r.f.height)
	case err != nil:
		return fmt.Errorf("%w: row %d: %v", ErrDamaged, r.y, err)
	}
	return nil
}

func (r *gifRows) ReadRow(rgb, alpha []byte) error {
	row := r.indices
	if r.f.interlaced {
		row = row[storedRow(r.y, r.f.height)*r.f.width:][:r.f.width]
	} else if err := r.fill(row); err != nil {
		return err
	}
	r.y++
	for x, v := range row {
		px := rgb[3*x:][:3:3]
		if at := 3 * int(v); at < len(r.f.palette) {
			copy(px, r.f.palette[at:])
		} else {
			clear(px)
		}
		if alpha != nil {
			alpha[x] = 255
			if int(v) == r.f.transparent {
				alpha[x] = 0
			}
		}
	}
	return nil
}

// storedRow is where row y of an interlaced frame lies: first every eighth row, then those halfway, and so on.
func storedRow(y, height int) int {
	count := func(first, step int) int { return max(0, (height-first+step-1)/step) }
	switch {
	case y%8 == 0:
		return y / 8
	case y%8 == 4:
		return count(0, 8) + y/8
	case y%4 == 2:
		return count(0, 8) + count(4, 8) + y/4
	}
	return count(0, 8) + count(4, 8) + count(2, 4) + y/2
}

// gifBlocks is the concatenation of data blocks.
type gifBlocks struct{ left, now []byte }

// ReadByte lets the decompressor read no further than it needs.
func (b *gifBlocks) ReadByte() (byte, error) {
	if len(b.now) == 0 {
		n := int(b.left[0]) // inspection walked to the empty block
		if n == 0 {
			return 0, io.EOF
		}
		b.now, b.left = b.left[1:1+n], b.left[1+n:]
	}
	v := b.now[0]
	b.now = b.now[1:]
	return v, nil
}

func (b *gifBlocks) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	v, err := b.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = v
	return 1, nil
}
