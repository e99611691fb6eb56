package picture

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// libraryError brings an error of the image libraries under the package's sentinels.
func libraryError(err error) error {
	var unsupported tiff.UnsupportedError
	switch {
	case errors.Is(err, bmp.ErrUnsupported) || errors.As(err, &unsupported):
		return fmt.Errorf("%w: %v", ErrUnsupported, err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %v", ErrTruncated, err)
	}
	return fmt.Errorf("%w: %v", ErrDamaged, err)
}

// imageRows reads whole decoded pictures row by row, with the colours as stored: the interfaces of package image
// would multiply them by alpha.
type imageRows struct {
	img image.Image
	at  func(x, y int) (r, g, b, a byte)
	y   int
}

func newImageRows(img image.Image) (*imageRows, error) {
	r := &imageRows{img: img}
	switch m := img.(type) {
	case *image.NRGBA:
		r.at = func(x, y int) (_, _, _, _ byte) { c := m.NRGBAAt(x, y); return c.R, c.G, c.B, c.A }
	case *image.NRGBA64:
		r.at = func(x, y int) (_, _, _, _ byte) {
			c := m.NRGBA64At(x, y)
			return byte(c.R >> 8), byte(c.G >> 8), byte(c.B >> 8), byte(c.A >> 8)
		}
	case *image.Gray:
		r.at = func(x, y int) (_, _, _, _ byte) { v := m.GrayAt(x, y).Y; return v, v, v, 255 }
	case *image.Gray16:
		r.at = func(x, y int) (_, _, _, _ byte) { v := byte(m.Gray16At(x, y).Y >> 8); return v, v, v, 255 }
	case *image.Paletted:
		r.at = palettedAt(m)
	case *image.RGBA: // multiplied by alpha, if not opaque
		r.at = func(x, y int) (_, _, _, _ byte) {
			c := color.NRGBAModel.Convert(m.RGBAAt(x, y)).(color.NRGBA)
			return c.R, c.G, c.B, c.A
		}
	case *image.RGBA64:
		r.at = func(x, y int) (_, _, _, _ byte) {
			c := color.NRGBA64Model.Convert(m.RGBA64At(x, y)).(color.NRGBA64)
			return byte(c.R >> 8), byte(c.G >> 8), byte(c.B >> 8), byte(c.A >> 8)
		}
	default:
		return nil, fmt.Errorf("%w: decoded to %T", ErrUnsupported, img)
	}
	return r, nil
}

func palettedAt(m *image.Paletted) func(x, y int) (r, g, b, a byte) {
	var colours [256]color.NRGBA64
	for i, c := range m.Palette {
		colours[i&255] = color.NRGBA64Model.Convert(c).(color.NRGBA64)
	}
	return func(x, y int) (_, _, _, _ byte) {
		c := &colours[m.ColorIndexAt(x, y)]
		return byte(c.R >> 8), byte(c.G >> 8), byte(c.B >> 8), byte(c.A >> 8)
	}
}

func (r *imageRows) ReadRow(rgb, alpha []byte) error {
	b := r.img.Bounds()
	if r.y == b.Dy() {
		return io.EOF
	}
	for x := range b.Dx() {
		px := rgb[3*x:][:3:3]
		var a byte
		px[0], px[1], px[2], a = r.at(b.Min.X+x, b.Min.Y+r.y)
		if alpha != nil {
			alpha[x] = a
		}
	}
	r.y++
	return nil
}
