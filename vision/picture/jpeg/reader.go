package jpeg

import (
	"fmt"
	"io"
)

// Reader yields the rows of a picture from top to bottom. It holds two rows of blocks per component beside the
// file's bytes, however the file is coded. Not for concurrent use.
type Reader struct {
	header Header
	planes []plane
	scans  []*scan
	decode []blockDecoder // per scan
	across int            // MCUs of a row
	bands  int            // MCU rows
	band   int            // the next to decode
	y      int            // the next row to yield
	colour converter
	lines  [4][]byte // one upsampled row per component
	sums   []int32   // scratch of the upsampling
}

// NewReader prepares to decode data, which must stay as it is meanwhile. The scans are listed and held to the rules
// now; a picture that lacks some is refused. Errors wrap ErrDamaged, ErrTruncated or ErrUnsupported. The caller has
// judged the size: NewReader allocates in proportion to the width.
func NewReader(data []byte) (*Reader, error) {
	h, err := ParseHeader(data)
	if err != nil {
		return nil, err
	}
	if h.Width == 0 || h.Height == 0 {
		return nil, fmt.Errorf("%w: %dx%d pixels", ErrDamaged, h.Width, h.Height)
	}
	r := &Reader{header: h, across: ceilDiv(h.Width, 8*h.frame.maxH), bands: ceilDiv(h.Height, 8*h.frame.maxV)}
	r.planes = make([]plane, h.Components)
	for i, c := range h.frame.components {
		r.planes[i].init(c, r.across*c.h)
	}
	if err := r.index(data); err != nil {
		return nil, err
	}
	if err := r.complete(); err != nil {
		return nil, err
	}
	for _, s := range r.scans {
		r.decode = append(r.decode, s.decoder(h.Progressive))
	}
	r.prepareLines()
	r.colour = h.converter()
	return r, nil
}

func (r *Reader) prepareLines() {
	widest := 0
	for i := range r.planes {
		p := &r.planes[i]
		n := p.component.width * (r.header.frame.maxH / p.component.h)
		r.lines[i] = make([]byte, n)
		widest = max(widest, p.component.width)
	}
	r.sums = make([]int32, widest)
}

// ReadRow decodes the next row into dst, [Width*3] R G B. After the last it returns io.EOF.
func (r *Reader) ReadRow(dst []byte) error {
	if r.y == r.header.Height {
		return io.EOF
	}
	if len(dst) != 3*r.header.Width {
		panic(fmt.Sprintf("BUG: row of %d bytes for %d pixels", len(dst), r.header.Width))
	}
	f := &r.header.frame
	for i := range r.planes {
		p := &r.planes[i]
		near, far := p.rowsFor(r.y, f.maxV)
		for last := max(near, far) / (8 * p.component.v); r.band <= last; {
			if err := r.nextBand(); err != nil {
				return err
			}
		}
	}
	var lines [4][]byte
	for i := range r.planes {
		lines[i] = r.upsample(i, r.y)[:r.header.Width]
	}
	r.colour(dst, lines)
	r.y++
	return nil
}

// nextBand takes every scan one MCU row further and transforms its blocks.
func (r *Reader) nextBand() error {
	for i := range r.planes {
		clear(r.planes[i].coefs)
	}
	for i, s := range r.scans {
		if err := s.decodeBand(r.band, r.across, r.decode[i]); err != nil {
			return err
		}
	}
	for i := range r.planes {
		r.planes[i].transform(r.band)
	}
	r.band++
	return nil
}
