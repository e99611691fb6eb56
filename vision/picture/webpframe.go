package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"io"

	"golang.org/x/image/webp"
)

func openWebP(_ []byte, h *Header, frame int) (rows, error) {
	f := h.parsed.(*webpFile)
	if len(f.frames) == 1 && h.Frames == 1 && f.frames[0].width == h.Width && f.frames[0].height == h.Height {
		return f.frames[0].open()
	}
	return compose(h, frame, func(i int) (layer, error) {
		fr := &f.frames[i]
		r, err := fr.open()
		return layer{x: fr.x, y: fr.y, width: fr.width, height: fr.height, rows: r, over: fr.over, after: fr.after}, err
	})
}

// open decodes a frame. The decoder gets a file of this frame alone, whose sizes have been compared.
func (f *webpFrame) open() (rows, error) {
	img, err := webp.Decode(f.file())
	if err != nil {
		return nil, libraryError(err)
	}
	switch m := img.(type) {
	case *image.YCbCr:
		return newWebPRows(m, nil, 0), nil
	case *image.NYCbCrA:
		return newWebPRows(&m.YCbCr, m.A, m.AStride), nil
	}
	return newImageRows(img)
}

func (f *webpFrame) file() io.Reader {
	name := "VP8 "
	if f.lossless {
		name = "VP8L"
	}
	var head []byte
	size := 4 + 8 + len(f.coded) + len(f.coded)&1
	if f.alpha != nil {
		size += 8 + 10 + 8 + len(f.alpha) + len(f.alpha)&1
	}
	head = append(head, "RIFF"...)
	head = binary.LittleEndian.AppendUint32(head, uint32(size))
	head = append(head, "WEBP"...)
	parts := []io.Reader{bytes.NewReader(head)}
	if f.alpha != nil {
		x := []byte("VP8X\x0a\x00\x00\x00\x10\x00\x00\x00")
		x = append24(append24(x, f.width-1), f.height-1)
		parts = append(parts, bytes.NewReader(x))
		parts = append(parts, riffChunk("ALPH", f.alpha)...)
	}
	return io.MultiReader(append(parts, riffChunk(name, f.coded)...)...)
}

func riffChunk(name string, body []byte) []io.Reader {
	head := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(body)))
	return []io.Reader{bytes.NewReader(head), bytes.NewReader(body), bytes.NewReader(make([]byte, len(body)&1))}
}

func append24(b []byte, v int) []byte { return append(b, byte(v), byte(v>>8), byte(v>>16)) }
