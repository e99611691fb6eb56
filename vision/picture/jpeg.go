package picture

import "github.com/fieldfare/fieldfare/vision/picture/jpeg"

func inspectJPEG(data []byte, h *Header) error {
	j, err := jpeg.ParseHeader(data)
	if err != nil {
		return err
	}
	h.Width, h.Height, h.Bits = j.Width, j.Height, j.Bits
	h.setOrientation(j.Exif)
	h.working = j.WorkingBytes()
	return nil
}

func openJPEG(data []byte, _ *Header, _ int) (rows, error) {
	r, err := jpeg.NewReader(data)
	if err != nil {
		return nil, err
	}
	return opaque{r}, nil
}

// opaque adapts a source without alpha.
type opaque struct {
	src interface{ ReadRow(rgb []byte) error }
}

func (o opaque) ReadRow(rgb, _ []byte) error { return o.src.ReadRow(rgb) }
