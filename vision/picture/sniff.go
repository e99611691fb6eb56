package picture

import (
	"bytes"
	"fmt"
	"strings"
)

// handler is the code of one format.
type handler struct {
	// inspect fills h from data, without decoding.
	inspect func(data []byte, h *Header) error
	// open prepares to decode frame, from 1.
	open func(data []byte, h *Header, frame int) (rows, error)
}

// rows yields stored rows from top to bottom: rgb is [width*3]; alpha, [width], is filled if the header has Alpha.
type rows interface {
	ReadRow(rgb, alpha []byte) error
}

var handlers = map[Format]handler{
	JPEG: {inspectJPEG, openJPEG},
	PNG:  {inspectPNG, openPNG},
	WebP: {inspectWebP, openWebP},
	GIF:  {inspectGIF, openGIF},
	BMP:  {inspectBMP, openBMP},
	TIFF: {inspectTIFF, openTIFF},
}

// sniff recognizes the format by its first bytes. Known formats that are not decoded are refused by name.
func sniff(data []byte) (Format, error) {
	has := func(prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }
	switch {
	case has("\xff\xd8\xff"):
		return JPEG, nil
	case has("\x89PNG\r\n\x1a\n"):
		return PNG, nil
	case has("GIF87a"), has("GIF89a"):
		return GIF, nil
	case has("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return WebP, nil
	case has("BM") && len(data) >= 18:
		return BMP, nil
	case has("II*\x00"), has("MM\x00*"):
		return TIFF, nil
	case len(data) >= 12 && string(data[4:8]) == "ftyp":
		return 0, refuseBoxes(data)
	}
	return 0, refuseUnknown(data)
}

// refuseBoxes names the formats that share the ISO box layout, by their brands.
func refuseBoxes(data []byte) error {
	brands := string(data[8:min(len(data), 64)])
	if size := int(data[2])<<8 | int(data[3]); size >= 12 && size < len(data) {
		brands = string(data[8:min(size, 64)])
	}
	switch {
	case strings.Contains(brands, "avif"), strings.Contains(brands, "avis"):
		return fmt.Errorf("%w: %s", ErrAVIF, "no decoder without cgo keeps to a memory limit")
	case strings.Contains(brands, "hei"), strings.Contains(brands, "hev"), strings.Contains(brands, "mif1"),
		strings.Contains(brands, "msf1"):
		return fmt.Errorf("%w: %s", ErrHEIF, "no decoder without cgo keeps to a memory limit")
	}
	return fmt.Errorf("%w: ISO media file of brand %q", ErrFormat, brands[:4])
}

func refuseUnknown(data []byte) error {
	for _, known := range []struct{ prefix, name string }{
		{"\xff\x0a", "JPEG XL"}, {"\x00\x00\x00\x0cJXL ", "JPEG XL"}, {"\x00\x00\x00\x0cjP  ", "JPEG 2000"},
		{"II+\x00", "BigTIFF"}, {"MM\x00+", "BigTIFF"}, {"8BPS", "Photoshop"}, {"%PDF", "PDF"},
		{"\x00\x00\x01\x00", "icon"}, {"<svg", "SVG"},
	} {
		if bytes.HasPrefix(data, []byte(known.prefix)) {
			return fmt.Errorf("%w: %s", ErrUnsupported, known.name)
		}
	}
	if len(data) == 0 {
		return fmt.Errorf("%w: the file is empty", ErrFormat)
	}
	return fmt.Errorf("%w: it begins with % x", ErrFormat, data[:min(len(data), 8)])
}
