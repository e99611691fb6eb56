package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/image/bmp"
)

// inspectBMP reads the file and info headers itself: the library's message would not say what it found.
func inspectBMP(data []byte, h *Header) error {
	offset, size := int64(binary.LittleEndian.Uint32(data[10:])), binary.LittleEndian.Uint32(data[14:])
	if size < 40 || len(data) < 54 {
		return fmt.Errorf("%w: BMP with an info header of %d bytes", ErrUnsupported, size)
	}
	width, height := int64(int32(binary.LittleEndian.Uint32(data[18:]))), int64(int32(binary.LittleEndian.Uint32(data[22:])))
	bits, compression := binary.LittleEndian.Uint16(data[28:]), binary.LittleEndian.Uint32(data[30:])
	if height < 0 {
		height = -height // rows from the top
	}
	if width < 0 {
		return fmt.Errorf("%w: BMP of width %d", ErrDamaged, width)
	}
	h.Width, h.Height = int(width), int(height)
	if width == 0 || height == 0 {
		return nil // refused for its size
	}
	if _, err := bmp.DecodeConfig(bytes.NewReader(data)); err != nil {
		return fmt.Errorf("%w: BMP of %d bits with compression %d", libraryError(err), bits, compression)
	}
	h.Alpha = bits == 32 && size > 40
	h.working = 4 * width * height
	h.parsed = offset + (width*int64(bits)+31)/32*4*height // bytes that the file must have
	return nil
}

func openBMP(data []byte, _ *Header, _ int) (rows, error) {
	img, err := bmp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, libraryError(err)
	}
	return newImageRows(img)
}
