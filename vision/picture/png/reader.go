package png

import (
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// Reader yields the rows of a picture, or of one frame of an animated file, from top to bottom.
type Reader struct {
	h             *Header
	width, height int
	y             int // the next row to yield

	packed  io.Reader // inflated rows, each with its filter
	row     []byte    // current row with its filter byte, and the one above
	above   []byte
	unpack  func(row []byte, rgb, alpha []byte)
	whole   []byte // interlaced: all pixels, R G B
	opacity []byte // interlaced: their alpha
}

// NewReader prepares to decode the still picture. The caller has judged the size.
func (h *Header) NewReader() (*Reader, error) {
	return h.newReader(h.Width, h.Height, &chunks{data: h.data, pos: h.still})
}

// NewFrameReader prepares to decode frame i of h.Frames, without what is around it.
func (h *Header) NewFrameReader(i int) (*Reader, error) {
	f := h.Frames[i]
	first, err := readChunk(h.data, f.at)
	if err != nil {
		return nil, err
	}
	return h.newReader(f.Width, f.Height, &chunks{data: h.data, pos: first.next(), frame: true})
}

func (h *Header) newReader(width, height int, data *chunks) (*Reader, error) {
	if width <= 0 || height <= 0 {
		return nil, fmt.Errorf("%w: %dx%d pixels", ErrDamaged, width, height)
	}
	z, err := zlib.NewReader(data)
	if err != nil {
		return nil, inflateError(err, 0)
	}
	r := &Reader{h: h, width: width, height: height, packed: z, unpack: h.unpacker()}
	if h.interlaced {
		return r, r.readInterlaced()
	}
	r.startPass(width)
	return r, nil
}

// ReadRow fills rgb, [width*3], with the next row, and alpha, [width], unless it is nil: 255 is opaque. Colours are
// those stored, not multiplied by alpha. After the last row it returns io.EOF.
func (r *Reader) ReadRow(rgb, alpha []byte) error {
	if r.y == r.height {
		return io.EOF
	}
	if r.h.interlaced {
		copy(rgb, r.whole[r.y*r.width*3:][:r.width*3])
		if r.opacity != nil {
			copy(alpha, r.opacity[r.y*r.width:][:r.width])
		} else {
			fill(alpha, 255)
		}
		r.y++
		return nil
	}
	if err := r.nextRow(r.y); err != nil {
		return err
	}
	r.unpack(r.row[1:], rgb, alpha)
	r.y++
	if r.y == r.height {
		return r.finish()
	}
	return nil
}

// startPass prepares for rows of width pixels.
func (r *Reader) startPass(width int) {
	n := 1 + (width*r.h.bitsPerPixel()+7)/8
	r.row, r.above = make([]byte, n), make([]byte, n)
}

// nextRow inflates a row and undoes its filter.
func (r *Reader) nextRow(y int) error {
	r.row, r.above = r.above, r.row
	if _, err := io.ReadFull(r.packed, r.row); err != nil {
		return inflateError(err, y)
	}
	if !unfilter(r.row[0], r.row[1:], r.above[1:], max(1, r.h.bitsPerPixel()/8)) {
		return fmt.Errorf("%w: row %d has filter %d", ErrDamaged, y, r.row[0])
	}
	return nil
}

// finish reads past the last row, so that the checksum over all rows is compared. Data beyond it is not inflated.
func (r *Reader) finish() error {
	var one [1]byte
	if _, err := io.ReadFull(r.packed, one[:]); err != nil && err != io.EOF {
		return inflateError(err, r.height)
	}
	return nil
}

func inflateError(err error, y int) error {
	switch {
	case errors.Is(err, ErrDamaged):
		return err
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fmt.Errorf("%w: image data ends in row %d", ErrTruncated, y)
	}
	return fmt.Errorf("%w: row %d: %v", ErrDamaged, y, err)
}

// adam7 lists the passes of an interlaced picture: first column and row, and the steps.
var adam7 = [7]struct{ x, y, dx, dy int }{
	{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2},
}

func (r *Reader) readInterlaced() error {
	r.whole = make([]byte, r.width*r.height*3)
	if r.h.Alpha {
		r.opacity = make([]byte, r.width*r.height)
	}
	for _, pass := range adam7 {
		across := (r.width - pass.x + pass.dx - 1) / pass.dx
		down := (r.height - pass.y + pass.dy - 1) / pass.dy
		if across <= 0 || down <= 0 {
			continue
		}
		r.startPass(across)
		rgb, alpha := make([]byte, across*3), make([]byte, across)
		for y := range down {
			if err := r.nextRow(y); err != nil {
				return err
			}
			r.unpack(r.row[1:], rgb, alpha)
			base := (pass.y+y*pass.dy)*r.width + pass.x
			for x := range across {
				copy(r.whole[3*(base+x*pass.dx):][:3], rgb[3*x:])
				if r.opacity != nil {
					r.opacity[base+x*pass.dx] = alpha[x]
				}
			}
		}
	}
	return r.finish()
}
