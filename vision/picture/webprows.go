package picture

import (
	"image"
	"io"
)

// webpRows converts the planes of a lossy WebP picture with the pixels of libwebp: chroma interpolated with the
// weights 9, 3, 3, 1 of the four nearest samples, then BT.601 of limited range in 14-bit fixed point. The conversion
// of package image is for JPEG's full range.
type webpRows struct {
	planes  *image.YCbCr
	alpha   []byte
	stride  int
	y       int
	cb, cr  []byte // one interpolated row
	samples int    // chroma samples of a row
	lines   int    // and rows
}

func newWebPRows(m *image.YCbCr, alpha []byte, stride int) *webpRows {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	return &webpRows{planes: m, alpha: alpha, stride: stride, cb: make([]byte, w), cr: make([]byte, w),
		samples: (w + 1) / 2, lines: (h + 1) / 2}
}

func (r *webpRows) ReadRow(rgb, alpha []byte) error {
	w := len(r.cb)
	if r.y == r.planes.Rect.Dy() {
		return io.EOF
	}
	near := r.y / 2
	far := near + 2*(r.y%2) - 1
	far = min(max(far, 0), r.lines-1)
	row := func(plane []byte, y int) []byte { return plane[y*r.planes.CStride:][:r.samples] }
	interpolate(r.cb, row(r.planes.Cb, near), row(r.planes.Cb, far))
	interpolate(r.cr, row(r.planes.Cr, near), row(r.planes.Cr, far))
	luma := r.planes.Y[r.y*r.planes.YStride:][:w]
	for x, v := range luma {
		px := rgb[3*x:][:3:3]
		y, cb, cr := scaled(v, 19077), r.cb[x], r.cr[x]
		px[0] = limited(y + scaled(cr, 26149) - 14234)
		px[1] = limited(y - scaled(cb, 6419) - scaled(cr, 13320) + 8708)
		px[2] = limited(y + scaled(cb, 33050) - 17685)
	}
	if r.alpha != nil && alpha != nil {
		copy(alpha, r.alpha[r.y*r.stride:][:w])
	}
	r.y++
	return nil
}

// interpolate doubles a row of chroma: near is the row of samples that covers dst, far the next on the other side.
func interpolate(dst, near, far []byte) {
	dst[0] = byte((3*int(near[0]) + int(far[0]) + 2) >> 2)
	last := (len(dst) - 1) / 2
	for x := 1; x <= last; x++ {
		n0, n1, f0, f1 := int(near[x-1]), int(near[x]), int(far[x-1]), int(far[x])
		sum := n0 + n1 + f0 + f1 + 8
		dst[2*x-1] = byte(((sum+2*(n1+f0))>>3 + n0) >> 1)
		dst[2*x] = byte(((sum+2*(n0+f1))>>3 + n1) >> 1)
	}
	if len(dst)%2 == 0 {
		dst[len(dst)-1] = byte((3*int(near[last]) + int(far[last]) + 2) >> 2)
	}
}

func scaled(v byte, factor int) int { return int(v) * factor >> 8 }

func limited(v int) byte { return byte(min(max(v>>6, 0), 255)) }
