package picture

import (
	"errors"
	"fmt"
	"io"

	"github.com/fieldfare/fieldfare/vision/picture/jpeg"
	"github.com/fieldfare/fieldfare/vision/picture/png"
)

// A RowReader yields the rows of one picture as they are stored, from top to bottom, in 8-bit RGB. It implements
// resize.Source. Not for concurrent use.
type RowReader struct {
	rows  rows
	width int
	left  int
	alpha []byte // scratch; nil for opaque pictures and dropped alpha
}

// Decode prepares to decode data, for which Inspect returned h with the same options. Formats that do not stream are
// decoded here; h.WorkingBytes bounds what that takes. Errors wrap one of the package's sentinels.
func Decode(data []byte, h *Header, opts Options) (r *RowReader, err error) {
	defer recovered("decode", &err)
	src, err := handlers[h.Format].open(data, h, max(1, opts.Frame))
	if err != nil {
		return nil, classified(err)
	}
	r = &RowReader{rows: src, width: h.Width, left: h.Height}
	if h.Alpha && opts.Alpha == White {
		r.alpha = make([]byte, h.Width)
	}
	return r, nil
}

// ReadRow fills dst, [width*3], with the next row; after the last it returns io.EOF. Errors wrap one of the package's
// sentinels.
func (r *RowReader) ReadRow(dst []byte) (err error) {
	if len(dst) != 3*r.width {
		panic(fmt.Sprintf("BUG: row of %d bytes for %d pixels", len(dst), r.width))
	}
	defer recovered("decode", &err)
	if r.left == 0 {
		return io.EOF
	}
	if err := r.rows.ReadRow(dst, r.alpha); err != nil {
		return classified(err)
	}
	r.left--
	if r.alpha != nil {
		onWhite(dst, r.alpha)
	}
	return nil
}

// onWhite composites a row on white.
func onWhite(rgb, alpha []byte) {
	for x, a := range alpha {
		if a == 255 {
			continue
		}
		px := rgb[3*x:][:3:3]
		for c := range px {
			px[c] = byte((int(px[c])*int(a) + 255*(255-int(a)) + 127) / 255)
		}
	}
}

// recovered turns a panic of a decoder into an error: a picture must never take the process down.
func recovered(doing string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %s: %v", ErrDecoder, doing, p)
	}
}

// classified brings the errors of decoders under the package's sentinels.
func classified(err error) error {
	for _, kind := range []struct{ from, to error }{
		{jpeg.ErrTruncated, ErrTruncated}, {jpeg.ErrDamaged, ErrDamaged}, {jpeg.ErrUnsupported, ErrUnsupported},
		{png.ErrTruncated, ErrTruncated}, {png.ErrDamaged, ErrDamaged}, {png.ErrUnsupported, ErrUnsupported},
		{io.ErrUnexpectedEOF, ErrTruncated}, {io.EOF, ErrTruncated},
	} {
		if errors.Is(err, kind.from) {
			return fmt.Errorf("%w: %w", kind.to, err)
		}
	}
	return err
}
