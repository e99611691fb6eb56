package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// webpFile is what walking a WebP file found.
type webpFile struct {
	frames []webpFrame
}

// webpFrame is one picture: a VP8 or VP8L chunk with what belongs to it.
type webpFrame struct {
	x, y, width, height int
	over                bool
	after               disposal
	alpha, coded        []byte // payloads of ALPH, or nil, and of VP8 or VP8L
	lossless            bool
	hasAlpha            bool
}

// maxWebPFrames bounds what the list of frames can take.
const maxWebPFrames = 4096

func inspectWebP(data []byte, h *Header) error {
	size := int64(binary.LittleEndian.Uint32(data[4:])) + 8
	if size > int64(len(data)) {
		return fmt.Errorf("%w: WebP announces %d bytes, has %d", ErrTruncated, size, len(data))
	}
	w := webpWalker{data: data[12:max(size, 12)]}
	f := &webpFile{}
	still := webpFrame{}
	for {
		name, body, err := w.next()
		if err != nil {
			return err
		}
		if name == "" {
			break
		}
		switch name {
		case "VP8X":
			if len(body) < 10 || h.Width != 0 {
				return fmt.Errorf("%w: WebP VP8X chunk of %d bytes", ErrDamaged, len(body))
			}
			h.Width, h.Height = uint24(body[4:])+1, uint24(body[7:])+1
		case "EXIF":
			h.setOrientation(bytes.TrimPrefix(body, []byte("Exif\x00\x00")))
		case "ANMF":
			if err := f.addFrame(body, h); err != nil {
				return err
			}
		default:
			if err := still.add(name, body); err != nil {
				return err
			}
		}
	}
	return f.finish(still, h)
}

// finish decides between a still picture and an animated one.
func (f *webpFile) finish(still webpFrame, h *Header) error {
	h.parsed = f
	if len(f.frames) > 0 {
		h.Frames, h.Alpha = len(f.frames), true
		h.working = canvasBytes(h) + 8*int64(h.Width)*int64(h.Height)
		return nil
	}
	if still.coded == nil {
		return fmt.Errorf("%w: WebP without a picture", ErrTruncated)
	}
	if h.Width == 0 {
		h.Width, h.Height = still.width, still.height
	}
	if still.width != h.Width || still.height != h.Height {
		return fmt.Errorf("%w: WebP of %dx%d holds a picture of %dx%d", ErrDamaged, h.Width, h.Height, still.width, still.height)
	}
	h.Alpha = still.hasAlpha
	h.working = 2 * int64(h.Width) * int64(h.Height) // planes, padded to whole blocks
	if still.lossless || still.hasAlpha {
		h.working *= 4 // pixels, and what undoes the transforms
	}
	f.frames = []webpFrame{still}
	return nil
}

// addFrame reads an ANMF chunk.
func (f *webpFile) addFrame(body []byte, h *Header) error {
	if len(body) < 16 {
		return fmt.Errorf("%w: WebP frame of %d bytes", ErrDamaged, len(body))
	}
	if len(f.frames) == maxWebPFrames {
		return fmt.Errorf("%w: more than %d frames", ErrUnsupported, maxWebPFrames)
	}
	n := len(f.frames) + 1
	fr := webpFrame{x: 2 * uint24(body), y: 2 * uint24(body[3:]), over: body[15]&2 == 0}
	width, height := uint24(body[6:])+1, uint24(body[9:])+1
	if body[15]&1 != 0 {
		fr.after = wipe
	}
	w := webpWalker{data: body[16:]}
	for {
		name, b, err := w.next()
		if err != nil {
			return err
		}
		if name == "" {
			break
		}
		if err := fr.add(name, b); err != nil {
			return err
		}
	}
	if fr.coded == nil || fr.width != width || fr.height != height || fr.x+width > h.Width || fr.y+height > h.Height {
		return fmt.Errorf("%w: WebP frame %d of %dx%d at %d,%d in %dx%d holds a picture of %dx%d", ErrDamaged, n, width,
			height, fr.x, fr.y, h.Width, h.Height, fr.width, fr.height)
	}
	f.frames = append(f.frames, fr)
	return nil
}

// add takes a chunk that may belong to a picture. Of several pictures the first counts.
func (f *webpFrame) add(name string, body []byte) error {
	if f.coded != nil {
		return nil
	}
	switch name {
	case "ALPH":
		f.alpha, f.hasAlpha = body, true
	case "VP8 ":
		// frame tag, start code, then 14 bits of each side with 2 bits of scaling
		if len(body) < 10 || body[0]&1 != 0 || string(body[3:6]) != "\x9d\x01\x2a" {
			return fmt.Errorf("%w: WebP VP8 chunk is no key frame", ErrDamaged)
		}
		f.width = int(binary.LittleEndian.Uint16(body[6:])) & 0x3FFF
		f.height = int(binary.LittleEndian.Uint16(body[8:])) & 0x3FFF
		f.coded = body
	case "VP8L":
		if len(body) < 5 || body[0] != 0x2F {
			return fmt.Errorf("%w: WebP VP8L chunk without its signature", ErrDamaged)
		}
		b := binary.LittleEndian.Uint32(body[1:])
		f.width, f.height = int(b&0x3FFF)+1, int(b>>14&0x3FFF)+1
		f.hasAlpha = b>>28&1 != 0
		f.alpha, f.lossless, f.coded = nil, true, body
	}
	return nil
}

// webpWalker steps over RIFF chunks.
type webpWalker struct {
	data []byte
}

// next returns an empty name at the end.
func (w *webpWalker) next() (name string, body []byte, err error) {
	if len(w.data) == 0 {
		return "", nil, nil
	}
	if len(w.data) < 8 {
		return "", nil, fmt.Errorf("%w: WebP chunk of %d bytes", ErrTruncated, len(w.data))
	}
	name = string(w.data[:4])
	n := int64(binary.LittleEndian.Uint32(w.data[4:]))
	if n > int64(len(w.data)-8) {
		return "", nil, fmt.Errorf("%w: WebP chunk %q of %d bytes, %d are left", ErrTruncated, name, n, len(w.data)-8)
	}
	body = w.data[8 : 8+n]
	w.data = w.data[min(int64(len(w.data)), 8+n+n&1):]
	return name, body, nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
