package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/color"
	"io"

	"golang.org/x/image/tiff"
)

// maxTIFFPages bounds the walk over directories.
const maxTIFFPages = 1024

// tiffPages lists the offsets of the directories of a file.
func tiffPages(data []byte) (pages []uint32, order binary.ByteOrder, err error) {
	order = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	if len(data) < 8 {
		return nil, nil, fmt.Errorf("%w: TIFF of %d bytes", ErrTruncated, len(data))
	}
	for at := order.Uint32(data[4:]); at != 0; {
		if len(pages) == maxTIFFPages {
			return nil, nil, fmt.Errorf("%w: TIFF of more than %d pages", ErrUnsupported, maxTIFFPages)
		}
		pages = append(pages, at)
		if int64(at)+2 > int64(len(data)) {
			return nil, nil, fmt.Errorf("%w: TIFF directory at byte %d of %d", ErrTruncated, at, len(data))
		}
		next := int64(at) + 2 + 12*int64(order.Uint16(data[at:]))
		if next+4 > int64(len(data)) {
			return nil, nil, fmt.Errorf("%w: TIFF directory at byte %d ends beyond %d", ErrTruncated, at, len(data))
		}
		at = order.Uint32(data[next:])
	}
	if pages == nil {
		return nil, nil, fmt.Errorf("%w: TIFF without a page", ErrDamaged)
	}
	return pages, order, nil
}

// inspectTIFF describes the first page; another one must have its size.
func inspectTIFF(data []byte, h *Header) error {
	pages, order, err := tiffPages(data)
	if err != nil {
		return err
	}
	c, err := tiff.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return libraryError(err)
	}
	h.Width, h.Height, h.Frames, h.Alpha = c.Width, c.Height, len(pages), true
	h.Bits = 8
	switch c.ColorModel {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		h.Bits = 16
	}
	h.setOrientation(data)
	h.working = 2 * 4 * int64(h.Bits/8) * int64(h.Width) * int64(h.Height)
	h.parsed = tiffFile{pages, order}
	return nil
}

type tiffFile struct {
	pages []uint32
	order binary.ByteOrder
}

func openTIFF(data []byte, h *Header, frame int) (rows, error) {
	f := h.parsed.(tiffFile)
	// The library decodes the page that the header points at.
	head := append([]byte{}, data[:8]...)
	f.order.PutUint32(head[4:], f.pages[frame-1])
	page := &patched{head: head, data: bytes.NewReader(data)}
	c, err := tiff.DecodeConfig(page.from(0))
	if err != nil {
		return nil, libraryError(err)
	}
	if c.Width != h.Width || c.Height != h.Height {
		return nil, fmt.Errorf("%w: page %d has %dx%d pixels, the first %dx%d", ErrUnsupported, frame, c.Width, c.Height,
			h.Width, h.Height)
	}
	img, err := tiff.Decode(page.from(0))
	if err != nil {
		return nil, libraryError(err)
	}
	return newImageRows(img)
}

// patched is a file whose first bytes are replaced.
type patched struct {
	head []byte
	data *bytes.Reader
}

func (p *patched) from(at int64) io.Reader { return io.NewSectionReader(p, at, p.data.Size()-at) }

func (p *patched) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.data.ReadAt(b, off)
	if off < int64(len(p.head)) {
		copy(b[:n], p.head[off:])
	}
	return n, err
}
