// Package jpeg decodes JPEG files row by row into RGB, with the pixels of libjpeg-turbo: its slow integer inverse
// DCT, its triangle upsampling and its colour tables. The standard library decodes whole pictures, upsamples chroma
// by repetition and differs by several levels at coloured edges.
//
// Baseline, extended and progressive Huffman files of 8 bits are decoded, with one, three or four components.
// Progressive files are walked with all their scans side by side, one row of blocks at a time, so no file needs a
// full-size buffer of coefficients or pixels. It refuses to know orientation, profiles and sizes that are too large:
// those are judged by package picture before a Reader is made.
//
// Read ParseHeader, then NewReader; a scan is decoded in scan.go.
package jpeg

import (
	"bytes"
	"fmt"
)

// markers, ITU T.81 table B.1
const (
	mSOF0  = 0xC0
	mSOF1  = 0xC1
	mSOF2  = 0xC2
	mDHT   = 0xC4
	mJPG   = 0xC8
	mDAC   = 0xCC
	mSOF15 = 0xCF
	mRST0  = 0xD0
	mRST7  = 0xD7
	mSOI   = 0xD8
	mEOI   = 0xD9
	mSOS   = 0xDA
	mDQT   = 0xDB
	mDNL   = 0xDC
	mDRI   = 0xDD
	mAPP0  = 0xE0
	mAPP1  = 0xE1
	mAPP14 = 0xEE
	mTEM   = 0x01
)

// Header is what the segments before the first scan say.
type Header struct {
	Width, Height int
	Bits          int // of one sample
	Components    int
	Progressive   bool
	Exif          []byte // TIFF block of the first Exif segment, part of the file's bytes; nil without one

	frame frame
	jfif  bool
	adobe int // transform of the Adobe segment, -1 without one
}

// WorkingBytes is the most that a Reader holds beside the file's bytes.
func (h *Header) WorkingBytes() int64 {
	var n int64
	for _, c := range h.frame.components {
		samples := int64(c.width+8*c.h) * int64(8*c.v) // of one band
		n += 2*samples + 2*samples + int64(h.Width) + 4*int64(c.width)
	}
	return n
}

// frame is the content of a start-of-frame segment.
type frame struct {
	components []component
	maxH, maxV int // largest sampling factors
}

type component struct {
	id, h, v int
	table    int // index of its quantization table
	width    int // samples of a row, without padding
	height   int
}

// ParseHeader reads the segments of data up to the first scan. It decodes nothing and allocates next to nothing.
// Errors wrap ErrDamaged, ErrTruncated or ErrUnsupported.
func ParseHeader(data []byte) (Header, error) {
	h := Header{adobe: -1}
	w, err := newWalker(data)
	if err != nil {
		return h, err
	}
	for {
		seg, err := w.next()
		if err != nil && h.frame.components != nil {
			return h, nil // the size is known, which says more; Complete finds what is missing
		}
		if err != nil {
			return h, err
		}
		switch {
		case seg.marker == mSOS || seg.marker == mEOI:
			if h.frame.components == nil {
				return h, fmt.Errorf("%w: no frame before the first scan", ErrDamaged)
			}
			return h, nil
		case isFrame(seg.marker):
			if err := h.readFrame(seg); err != nil {
				return h, err
			}
		default:
			h.readApplication(seg)
		}
	}
}

func isFrame(marker byte) bool {
	return marker >= mSOF0 && marker <= mSOF15 && marker != mDHT && marker != mJPG && marker != mDAC
}

// readApplication takes what matters of the APPn segments and ignores the rest.
func (h *Header) readApplication(seg segment) {
	switch seg.marker {
	case mAPP0:
		if len(seg.body) >= 12 && bytes.HasPrefix(seg.body, []byte("JFIF\x00")) {
			h.jfif = true
		}
	case mAPP1:
		if block, ok := bytes.CutPrefix(seg.body, []byte("Exif\x00\x00")); ok && h.Exif == nil {
			h.Exif = block
		}
	case mAPP14:
		if len(seg.body) >= 12 && bytes.HasPrefix(seg.body, []byte("Adobe")) {
			h.adobe = int(seg.body[11])
		}
	}
}

func (h *Header) readFrame(seg segment) error {
	if h.frame.components != nil {
		return fmt.Errorf("%w: a second frame at byte %d", ErrDamaged, seg.at)
	}
	if err := checkProcess(seg.marker); err != nil {
		return err
	}
	b := seg.body
	if len(b) < 6 || len(b) != 6+3*int(b[5]) {
		return fmt.Errorf("%w: frame segment of %d bytes at byte %d", ErrDamaged, len(b), seg.at)
	}
	h.Progressive = seg.marker == mSOF2
	h.Bits, h.Height, h.Width, h.Components = int(b[0]), int(b[1])<<8|int(b[2]), int(b[3])<<8|int(b[4]), int(b[5])
	if h.Bits != 8 {
		return fmt.Errorf("%w: %d bits a sample, expected 8", ErrUnsupported, h.Bits)
	}
	if h.Components != 1 && h.Components != 3 && h.Components != 4 {
		return fmt.Errorf("%w: %d components, expected 1, 3 or 4", ErrUnsupported, h.Components)
	}
	return h.readComponents(b[6:])
}

// checkProcess refuses the coding processes that no common decoder reads, by name.
func checkProcess(marker byte) error {
	switch {
	case marker <= mSOF2:
		return nil
	case marker == 0xC3 || marker == 0xC7 || marker == 0xCB || marker == mSOF15:
		return fmt.Errorf("%w: lossless JPEG", ErrUnsupported)
	case marker >= 0xC9:
		return fmt.Errorf("%w: arithmetic coding", ErrUnsupported)
	}
	return fmt.Errorf("%w: hierarchical JPEG", ErrUnsupported)
}

func (h *Header) readComponents(b []byte) error {
	f := frame{components: make([]component, h.Components)}
	for i := range f.components {
		c := component{id: int(b[3*i]), h: int(b[3*i+1] >> 4), v: int(b[3*i+1] & 15), table: int(b[3*i+2])}
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.table > 3 {
			return fmt.Errorf("%w: component %d has sampling %dx%d and table %d", ErrDamaged, i, c.h, c.v, c.table)
		}
		for _, other := range f.components[:i] {
			if other.id == c.id {
				return fmt.Errorf("%w: component id %d appears twice", ErrDamaged, c.id)
			}
		}
		if h.Components == 1 {
			c.h, c.v = 1, 1 // sampling has no meaning for one component: its units are single blocks
		}
		f.maxH, f.maxV = max(f.maxH, c.h), max(f.maxV, c.v)
		f.components[i] = c
	}
	for i := range f.components {
		c := &f.components[i]
		if f.maxH%c.h != 0 || f.maxV%c.v != 0 {
			return fmt.Errorf("%w: sampling %dx%d beside %dx%d", ErrUnsupported, c.h, c.v, f.maxH, f.maxV)
		}
		c.width = ceilDiv(h.Width*c.h, f.maxH)
		c.height = ceilDiv(h.Height*c.v, f.maxV)
	}
	h.frame = f
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
