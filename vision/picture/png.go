package picture

import "github.com/fieldfare/fieldfare/vision/picture/png"

func inspectPNG(data []byte, h *Header) error {
	p, err := png.ParseHeader(data)
	if err != nil {
		return err
	}
	h.Width, h.Height, h.Bits, h.Alpha = p.Width, p.Height, p.Bits, p.Alpha
	h.setOrientation(p.Exif)
	h.working = p.WorkingBytes()
	if n := len(p.Frames); n > 0 {
		h.Frames = n
		h.Alpha = true // a frame need not cover the picture
		h.working += canvasBytes(h)
	}
	h.parsed = p
	return nil
}

func openPNG(_ []byte, h *Header, frame int) (rows, error) {
	p := h.parsed.(*png.Header)
	if len(p.Frames) == 0 {
		return p.NewReader()
	}
	return compose(h, frame, func(i int) (layer, error) {
		f := p.Frames[i]
		r, err := p.NewFrameReader(i)
		return layer{x: f.X, y: f.Y, width: f.Width, height: f.Height, rows: r, over: f.Over, after: disposal(f.Dispose)}, err
	})
}
