package picture

import (
	"fmt"

	"github.com/fieldfare/fieldfare/vision/picture/jpeg"
	"github.com/fieldfare/fieldfare/vision/picture/png"
)

// checkComplete looks for the end of files whose headers do not already prove it. GIF and WebP are walked to their
// end by inspection; TIFF has no end, and its decoder says when pixels are missing.
func (h *Header) checkComplete(data []byte) error {
	switch h.Format {
	case BMP:
		if need := h.parsed.(int64); need > int64(len(data)) {
			return fmt.Errorf("%w: BMP needs %d bytes, has %d", ErrTruncated, need, len(data))
		}
	case JPEG:
		return jpeg.Complete(data)
	case PNG:
		return png.Complete(data)
	}
	return nil
}
