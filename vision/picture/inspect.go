package picture

import "fmt"

// Inspect reads the headers of an image file and admits or refuses it. Nothing is decompressed and memory stays flat
// whatever the headers claim. The last check is that the file is complete, because lenient decoders fill what a
// truncated one lacks with grey or black, and the model would then describe a picture that nobody sent.
//
// Errors wrap one of the package's sentinels. The Header keeps views of data, which must stay as it is.
func Inspect(data []byte, opts Options) (h *Header, err error) {
	defer recovered("inspect", &err)
	limits := opts.Limits.withDefaults()
	if n := int64(len(data)); n > limits.EncodedBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrEncodedBytes, n, limits.EncodedBytes)
	}
	format, err := sniff(data)
	if err != nil {
		return nil, err
	}
	if format == TIFF && !opts.TIFF {
		return nil, ErrTIFF
	}
	h = &Header{Format: format, Orientation: 1, Frames: 1, Bits: 8}
	if err := handlers[format].inspect(data, h); err != nil {
		return nil, classified(err)
	}
	if err := h.checkSize(limits); err != nil {
		return nil, err
	}
	if err := h.checkFrame(opts.Frame); err != nil {
		return nil, err
	}
	if err := h.checkComplete(data); err != nil {
		return nil, classified(err)
	}
	return h, nil
}

func (h *Header) checkSize(l Limits) error {
	pixels := int64(h.Width) * int64(h.Height)
	decoded := pixels * int64(max(1, h.Bits/8)) * 4
	switch {
	case h.Width <= 0 || h.Height <= 0:
		return fmt.Errorf("%w: %s of %dx%d", ErrZeroSize, h.Format, h.Width, h.Height)
	case h.Width > l.Side || h.Height > l.Side:
		return fmt.Errorf("%w: %s of %dx%d, at most %d pixels a side", ErrSide, h.Format, h.Width, h.Height, l.Side)
	case pixels > l.Pixels:
		return fmt.Errorf("%w: %s of %dx%d has %d, at most %d", ErrPixels, h.Format, h.Width, h.Height, pixels, l.Pixels)
	case decoded > l.DecodedBytes:
		return fmt.Errorf("%w: %s of %dx%d at %d bits takes %d bytes, at most %d", ErrDecodedBytes, h.Format, h.Width,
			h.Height, h.Bits, decoded, l.DecodedBytes)
	}
	return nil
}

func (h *Header) checkFrame(frame int) error {
	switch {
	case frame < 0 || frame > h.Frames:
		return fmt.Errorf("%w: frame %d of %d", ErrFrame, frame, h.Frames)
	case frame == 0 && h.Frames > 1:
		return fmt.Errorf("%w: %s of %d frames, expected 1", ErrAnimated, h.Format, h.Frames)
	}
	return nil
}
