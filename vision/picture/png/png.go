// Package png decodes PNG files row by row into 8-bit RGB and alpha. Of 16-bit samples the high byte counts; gamma,
// colour profiles and every other ancillary chunk but transparency, Exif and animation are ignored, as the reference
// processors do. The standard library decodes whole pictures into four bytes a pixel and more.
//
// It refuses to know compositing, orientation and sizes that are too large: those are judged by package picture
// before a Reader is made. Interlaced pictures need all their pixels at once; others hold two rows.
package png

import (
	"encoding/binary"
	"fmt"
)

// Signature opens every PNG file.
const Signature = "\x89PNG\r\n\x1a\n"

// colour types
const (
	grey      = 0
	rgb       = 2
	palette   = 3
	greyAlpha = 4
	rgba      = 6
)

// Header is what the chunks say, without decompressing any.
type Header struct {
	Width, Height int
	Bits          int // of one sample
	Alpha         bool
	Exif          []byte // TIFF block, part of the file's bytes; nil without one
	// Frames are those of an animated file in order, nil for a still picture.
	Frames []Frame

	colour     byte
	interlaced bool
	hasPalette bool
	colours    [256][4]byte // palette with alpha
	key        []byte       // transparent sample or colour, 2 bytes a sample; nil without one
	data       []byte       // the file
	still      int          // offset of the first IDAT, 0 without one
}

// Frame is one frame of an animated file.
type Frame struct {
	X, Y, Width, Height int
	Dispose             byte // what becomes of its area afterwards: 0 it stays, 1 cleared, 2 restored
	Over                bool // blended over what is there, rather than replacing it

	at     int // offset of its control chunk
	filled bool
}

// WorkingBytes is the most that decoding the still picture holds at once.
func (h *Header) WorkingBytes() int64 {
	rows := 4 * int64(h.Width) * int64(h.bitsPerPixel()) / 8
	if !h.interlaced {
		return rows
	}
	perPixel := int64(3)
	if h.Alpha {
		perPixel = 4
	}
	return rows + perPixel*int64(h.Width)*int64(h.Height)
}

// maxFrames bounds what the list of frames can take.
const maxFrames = 4096

// ParseHeader reads the chunks of data, which begins with Signature and stays as it is, and decompresses none.
// Errors wrap ErrDamaged, ErrTruncated or ErrUnsupported.
func ParseHeader(data []byte) (*Header, error) {
	h := &Header{data: data}
	animated := false
	for pos := len(Signature); ; {
		c, err := readChunk(data, pos)
		if err != nil {
			return nil, err
		}
		if err := h.checkOrder(pos, c.name()); err != nil {
			return nil, err
		}
		switch c.name() {
		case "acTL":
			animated = len(c.payload) == 8 && h.still == 0
		case "IEND":
			if !animated || len(h.Frames) < 2 {
				h.Frames = nil
			}
			return h, h.checkComplete()
		default:
			if err := h.readChunk(c); err != nil {
				return nil, err
			}
		}
		pos = c.next()
	}
}

func (h *Header) readChunk(c chunk) error {
	switch c.name() {
	case "IHDR":
		return h.readIHDR(c)
	case "PLTE":
		return h.readPalette(c)
	case "tRNS":
		return h.readTransparency(c)
	case "eXIf":
		h.Exif = c.payload
	case "fcTL":
		return h.readFrame(c)
	case "IDAT", "fdAT":
		if c.name() == "IDAT" && h.still == 0 {
			h.still = c.at
		}
		if n := len(h.Frames); n > 0 {
			h.Frames[n-1].filled = true
		}
	}
	return nil
}

func (h *Header) checkOrder(pos int, name string) error {
	first := pos == len(Signature)
	if first && name == "CgBI" {
		return fmt.Errorf("%w: Apple's CgBI variant", ErrUnsupported)
	}
	if first != (name == "IHDR") {
		return fmt.Errorf("%w: chunk %q at byte %d where IHDR belongs first and once", ErrDamaged, name, pos)
	}
	return nil
}

func (h *Header) readIHDR(c chunk) error {
	b := c.payload
	if len(b) != 13 {
		return fmt.Errorf("%w: IHDR of %d bytes, expected 13", ErrDamaged, len(b))
	}
	if err := c.check(); err != nil {
		return err
	}
	width, height := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if width > 1<<31-1 || height > 1<<31-1 {
		return fmt.Errorf("%w: %dx%d pixels", ErrDamaged, width, height)
	}
	h.Width, h.Height, h.Bits, h.colour = int(width), int(height), int(b[8]), b[9]
	h.interlaced = b[12] == 1
	h.Alpha = h.colour == greyAlpha || h.colour == rgba
	if !validDepth(h.colour, h.Bits) || b[10] != 0 || b[11] != 0 || b[12] > 1 {
		return fmt.Errorf("%w: colour type %d of %d bits, compression %d, filter %d, interlace %d", ErrDamaged,
			h.colour, h.Bits, b[10], b[11], b[12])
	}
	return nil
}

func validDepth(colour byte, bits int) bool {
	switch colour {
	case grey:
		return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16
	case palette:
		return bits == 1 || bits == 2 || bits == 4 || bits == 8
	case rgb, greyAlpha, rgba:
		return bits == 8 || bits == 16
	}
	return false
}

func (h *Header) readPalette(c chunk) error {
	b := c.payload
	if h.colour != palette {
		return nil // a suggestion for displays that have few colours
	}
	if len(b) == 0 || len(b)%3 != 0 || len(b) > 3*256 {
		return fmt.Errorf("%w: palette of %d bytes", ErrDamaged, len(b))
	}
	if err := c.check(); err != nil {
		return err
	}
	for i := range h.colours {
		h.colours[i] = [4]byte{0, 0, 0, 255} // what indices beyond the palette show
	}
	for i := range len(b) / 3 {
		copy(h.colours[i][:3], b[3*i:])
	}
	h.hasPalette = true
	return nil
}

func (h *Header) readTransparency(c chunk) error {
	b := c.payload
	want := map[byte]int{grey: 2, rgb: 6}[h.colour]
	switch {
	case h.colour == palette && len(b) <= 256:
		for i, a := range b {
			h.colours[i][3] = a
		}
	case want > 0 && len(b) == want:
		h.key = b
	case want > 0 || h.colour == palette:
		return fmt.Errorf("%w: transparency of %d bytes for colour type %d", ErrDamaged, len(b), h.colour)
	default:
		return nil // pictures with alpha cannot have it; decoders ignore it
	}
	h.Alpha = true
	return c.check()
}

// readFrame reads a frame control chunk.
func (h *Header) readFrame(c chunk) error {
	b := c.payload
	if len(b) != 26 {
		return fmt.Errorf("%w: frame control of %d bytes, expected 26", ErrDamaged, len(b))
	}
	if len(h.Frames) == maxFrames {
		return fmt.Errorf("%w: more than %d frames", ErrUnsupported, maxFrames)
	}
	at := func(i int) int { return int(binary.BigEndian.Uint32(b[i:])) }
	f := Frame{Width: at(4), Height: at(8), X: at(12), Y: at(16), Dispose: b[24], Over: b[25] == 1, at: c.at}
	if f.Width < 1 || f.Height < 1 || f.X+f.Width > h.Width || f.Y+f.Height > h.Height || f.Dispose > 2 || b[25] > 1 {
		return fmt.Errorf("%w: frame %d of %dx%d at %d,%d in %dx%d", ErrDamaged, len(h.Frames)+1, f.Width, f.Height,
			f.X, f.Y, h.Width, h.Height)
	}
	h.Frames = append(h.Frames, f)
	return c.check()
}

func (h *Header) checkComplete() error {
	if h.still == 0 {
		return fmt.Errorf("%w: no image data", ErrTruncated)
	}
	if h.colour == palette && !h.hasPalette {
		return fmt.Errorf("%w: no palette", ErrDamaged)
	}
	for i, f := range h.Frames {
		if !f.filled {
			return fmt.Errorf("%w: frame %d has no data", ErrTruncated, i+1)
		}
	}
	return nil
}
