package picture

import (
	"encoding/binary"
	"fmt"
)

// gifFile is what walking a GIF file found.
type gifFile struct {
	palette []byte // global, R G B
	frames  []gifFrame
}

type gifFrame struct {
	x, y, width, height int
	palette             []byte
	interlaced          bool
	transparent         int // palette index, -1 for none
	after               disposal
	data                []byte // from the code size on
}

// maxGIFFrames bounds what the list of frames can take.
const maxGIFFrames = 4096

func inspectGIF(data []byte, h *Header) error {
	w := &gifWalker{data: data, pos: 6}
	screen, err := w.take(7)
	if err != nil {
		return err
	}
	h.Width, h.Height = int(binary.LittleEndian.Uint16(screen)), int(binary.LittleEndian.Uint16(screen[2:]))
	f := &gifFile{}
	if f.palette, err = w.colours(screen[4]); err != nil {
		return err
	}
	for {
		frame, err := w.nextFrame()
		if err != nil {
			return err
		}
		if frame == nil {
			break
		}
		if frame.x+frame.width > h.Width || frame.y+frame.height > h.Height {
			return fmt.Errorf("%w: frame %d of %dx%d at %d,%d in %dx%d", ErrDamaged, len(f.frames)+1, frame.width,
				frame.height, frame.x, frame.y, h.Width, h.Height)
		}
		if frame.palette == nil {
			frame.palette = f.palette
		}
		if len(f.frames) == maxGIFFrames {
			return fmt.Errorf("%w: more than %d frames", ErrUnsupported, maxGIFFrames)
		}
		f.frames = append(f.frames, *frame)
	}
	if len(f.frames) == 0 {
		return fmt.Errorf("%w: no frame", ErrTruncated)
	}
	h.Frames, h.parsed = len(f.frames), f
	first := &f.frames[0]
	whole := len(f.frames) == 1 && first.width == h.Width && first.height == h.Height
	h.Alpha = !whole || first.transparent >= 0
	h.working = int64(h.Width) * int64(h.Height) // indices, if it is interlaced
	if !whole {
		h.working += canvasBytes(h)
	}
	return nil
}

// gifWalker steps over the blocks of a file without decompressing any.
type gifWalker struct {
	data []byte
	pos  int
	// from the graphic control block that precedes a frame
	transparent int
	after       disposal
}

func (w *gifWalker) take(n int) ([]byte, error) {
	if len(w.data)-w.pos < n {
		return nil, fmt.Errorf("%w: GIF ends at byte %d where %d bytes are due", ErrTruncated, len(w.data), n)
	}
	b := w.data[w.pos : w.pos+n]
	w.pos += n
	return b, nil
}

// colours reads the palette that flags announce, nil if they do not.
func (w *gifWalker) colours(flags byte) ([]byte, error) {
	if flags&0x80 == 0 {
		return nil, nil
	}
	return w.take(3 << (flags&7 + 1))
}

// skipBlocks steps over data blocks up to the empty one.
func (w *gifWalker) skipBlocks() error {
	for {
		n, err := w.take(1)
		if err != nil || n[0] == 0 {
			return err
		}
		if _, err := w.take(int(n[0])); err != nil {
			return err
		}
	}
}

// nextFrame returns nil at the trailer.
func (w *gifWalker) nextFrame() (*gifFrame, error) {
	w.transparent, w.after = -1, keep
	for {
		kind, err := w.take(1)
		if err != nil {
			return nil, err
		}
		switch kind[0] {
		case 0x3B:
			return nil, nil
		case 0x21:
			err = w.extension()
		case 0x2C:
			return w.frame()
		case 0: // stray block terminators occur
		default:
			return nil, fmt.Errorf("%w: GIF block %#02x at byte %d", ErrDamaged, kind[0], w.pos-1)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (w *gifWalker) extension() error {
	label, err := w.take(1)
	if err != nil {
		return err
	}
	const graphicControl = 0xF9
	if b := w.data[w.pos:]; label[0] == graphicControl && len(b) >= 5 && b[0] == 4 {
		if b[1]&1 != 0 {
			w.transparent = int(b[4])
		}
		switch b[1] >> 2 & 7 {
		case 2:
			w.after = wipe
		case 3:
			w.after = restore
		}
	}
	return w.skipBlocks()
}

func (w *gifWalker) frame() (*gifFrame, error) {
	b, err := w.take(9)
	if err != nil {
		return nil, err
	}
	at := func(i int) int { return int(binary.LittleEndian.Uint16(b[i:])) }
	f := &gifFrame{x: at(0), y: at(2), width: at(4), height: at(6), interlaced: b[8]&0x40 != 0,
		transparent: w.transparent, after: w.after}
	if f.palette, err = w.colours(b[8]); err != nil {
		return nil, err
	}
	start := w.pos
	if _, err := w.take(1); err != nil {
		return nil, err
	}
	if err := w.skipBlocks(); err != nil {
		return nil, err
	}
	f.data = w.data[start:w.pos]
	return f, nil
}
