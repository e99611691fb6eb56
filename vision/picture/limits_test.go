package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	stdpng "image/png"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// pngChunk is written out again here, so that the tests share nothing with the reader.
func pngChunk(name string, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(append(b, name...), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// pngOf is a file whose headers claim a size; its data is empty.
func pngOf(width, height uint32, bits byte) []byte {
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	head = append(head, bits, 2, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", head)...)
	b = append(b, pngChunk("IDAT", nil)...)
	return append(b, pngChunk("IEND", nil)...)
}

func TestCeilingsAreInclusive(t *testing.T) {
	cases := []struct {
		width, height uint32
		bits          byte
		want          error
	}{
		{8000, 6000, 8, nil},
		{10000, 5000, 8, nil}, // 50,000,000 pixels and 200,000,000 bytes
		{10001, 5000, 8, ErrPixels},
		{5000, 5000, 16, nil}, // 200,000,000 bytes
		{5001, 5000, 16, ErrDecodedBytes},
		{32768, 1, 8, nil},
		{32768, 1525, 8, nil},
		{32769, 1, 8, ErrSide},
		{1, 32769, 8, ErrSide},
		{32768, 32768, 8, ErrPixels},
		{0, 1, 8, ErrZeroSize},
		{1, 0, 8, ErrZeroSize},
	}
	for _, c := range cases {
		_, err := Inspect(pngOf(c.width, c.height, c.bits), Options{})
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%dx%d at %d bits: got %v, want %v", c.width, c.height, c.bits, err, c.want)
		}
	}
	data := pngOf(10, 10, 8)
	if _, err := Inspect(data, Options{Limits: Limits{EncodedBytes: int64(len(data))}}); err != nil {
		t.Errorf("a file of exactly the limit: %v", err)
	}
	if _, err := Inspect(data, Options{Limits: Limits{EncodedBytes: int64(len(data)) - 1}}); !errors.Is(err, ErrEncodedBytes) {
		t.Errorf("a file one byte above the limit: %v", err)
	}
}

func TestOwnLimitsReplaceTheDefaults(t *testing.T) {
	data := pngOf(100, 50, 8)
	for _, c := range []struct {
		limits Limits
		want   error
	}{
		{Limits{Side: 99}, ErrSide}, {Limits{Pixels: 4999}, ErrPixels}, {Limits{DecodedBytes: 19999}, ErrDecodedBytes},
		{Limits{Side: 100, Pixels: 5000, DecodedBytes: 20000}, nil},
	} {
		if _, err := Inspect(data, Options{Limits: c.limits}); !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.limits, err, c.want)
		}
	}
}

// allocated is what f allocates, in bytes.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func TestInspectionNeverAllocatesMuch(t *testing.T) {
	const most = 64 << 10
	for _, c := range readTable(t) {
		data := readImage(t, c.File)
		took := allocated(func() { _, _ = Inspect(data, c.options(White)) })
		if took > most {
			t.Errorf("%s: %d bytes allocated, at most %d", c.name(), took, most)
		}
	}
}

func TestManySmallPartsDoNotAddUp(t *testing.T) {
	const parts, most = 200_000, 4 << 20 // the lists of frames are capped
	idat := pngOf(10, 10, 8)
	end := pngChunk("IEND", nil)
	idat = append(idat[:len(idat)-len(end)], bytes.Repeat(pngChunk("IDAT", nil), parts)...)
	idat = append(idat, end...)

	frame := []byte(",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x00")
	gif := append([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff"), bytes.Repeat(frame, parts)...)
	gif = append(gif, ';')

	jpg := readImage(t, "jpeg-444-progressive.jpg")
	scan := jpg[bytes.LastIndex(jpg, []byte("\xff\xda")) : len(jpg)-2]
	scans := append(bytes.Clone(jpg[:len(jpg)-2]), bytes.Repeat(scan, 5000)...)
	scans = append(scans, "\xff\xd9"...)

	for name, data := range map[string][]byte{"PNG of empty chunks": idat, "GIF of tiny frames": gif, "JPEG of scans": scans} {
		took := allocated(func() { _, _, _ = decodeAll(data, Options{Frame: 1}) })
		if took > most {
			t.Errorf("%s: %d bytes allocated, at most %d", name, took, most)
		}
	}
	if _, _, err := decodeAll(scans, Options{}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "256 scans") {
		t.Errorf("5,000 scans: got %v", err)
	}
	if _, err := Inspect(gif, Options{Frame: 1}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("%d frames: got %v", parts, err)
	}
}

func TestNoPrefixOfAPictureIsTakenForThePicture(t *testing.T) {
	for _, c := range readTable(t) {
		if c.Error != "" || c.File == "jpeg-trailing-video.jpg" || c.Frame > 1 {
			continue
		}
		data := readImage(t, c.File)
		for n := len(data) - 1; n >= 0; n -= 1 + n/40 {
			_, _, err := decodeAll(data[:n], c.options(White))
			if err == nil {
				t.Errorf("%s: its first %d of %d bytes pass as a picture", c.name(), n, len(data))
			}
			if errors.Is(err, ErrDecoder) {
				t.Errorf("%s: first %d bytes: %v", c.name(), n, err)
			}
		}
	}
}

func TestDamagedBytesNeverPanic(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tight := Limits{Pixels: 1 << 20, Side: 1 << 14}
	for _, c := range readTable(t) {
		data := readImage(t, c.File)
		for range 20 {
			bad := bytes.Clone(data)
			for range 1 + rng.IntN(4) {
				if len(bad) > 0 {
					bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
				}
			}
			opts := c.options(White)
			opts.Limits = tight
			if _, _, err := decodeAll(bad, opts); errors.Is(err, ErrDecoder) {
				t.Errorf("%s: %v", c.name(), err)
			}
		}
	}
}

type brokenRows struct{}

func (brokenRows) ReadRow(_, _ []byte) error { var none []byte; none[3]++; return nil }

func TestPanicOfADecoderBecomesAnError(t *testing.T) {
	r := &RowReader{rows: brokenRows{}, width: 1, left: 1}
	if err := r.ReadRow(make([]byte, 3)); !errors.Is(err, ErrDecoder) || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("got %v, want ErrDecoder with the reason", err)
	}
}

func TestCompositingOnWhite(t *testing.T) {
	for _, c := range []struct{ v, a, want byte }{
		{0, 0, 255}, {0, 255, 0}, {200, 255, 200}, {200, 0, 255}, {0, 128, 127}, {0, 127, 128}, {100, 51, 224}, {255, 77, 255},
	} {
		px := []byte{c.v, c.v, c.v}
		onWhite(px, []byte{c.a})
		if px[0] != c.want {
			t.Errorf("%d at %d/255 on white: got %d, want %d", c.v, c.a, px[0], c.want)
		}
	}
}

func TestBlendingTwoColours(t *testing.T) {
	for v := 0; v < 256; v += 15 {
		for a := 0; a < 256; a += 17 {
			for b := 0; b < 256; b += 51 {
				under, opacity := []byte{byte(255 - v)}, byte(b)
				blend(under, &opacity, []byte{byte(v)}, byte(a))
				fa, fb := float64(a)/255, float64(b)/255
				sum := fa + fb*(1-fa)
				if d := float64(opacity) - 255*sum; d > 1 || d < -1 {
					t.Fatalf("opacity of %d over %d: got %d, want %.1f", a, b, opacity, 255*sum)
				}
				if sum > 0.1 {
					want := (float64(v)*fa + float64(255-v)*fb*(1-fa)) / sum
					if d := float64(under[0]) - want; d > 6 || d < -6 {
						t.Fatalf("%d at %d over %d at %d: got %d, want %.1f", v, a, 255-v, b, under[0], want)
					}
				}
			}
		}
	}
}

// TestPNGEqualsTheStandardDecoder compares with another decoder at sizes where rows end in the middle of a byte.
func TestPNGEqualsTheStandardDecoder(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, size := range [][2]int{{1, 1}, {2, 3}, {7, 1}, {8, 8}, {9, 5}, {63, 2}, {64, 3}, {65, 4}} {
		rect := image.Rect(0, 0, size[0], size[1])
		for name, img := range map[string]interface {
			image.Image
			Set(x, y int, c color.Color)
		}{
			"NRGBA": image.NewNRGBA(rect), "NRGBA64": image.NewNRGBA64(rect), "Gray": image.NewGray(rect), "Gray16": image.NewGray16(rect),
			"palette": image.NewPaletted(rect, color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{200, 100, 0, 255}, color.NRGBA{9, 9, 250, 128}}),
		} {
			for y := range size[1] {
				for x := range size[0] {
					v := rng.Uint64()
					img.Set(x, y, color.NRGBA64{uint16(v), uint16(v >> 16), uint16(v >> 32), uint16(v >> 48)})
				}
			}
			var file bytes.Buffer
			if err := stdpng.Encode(&file, img); err != nil {
				t.Fatal(err)
			}
			comparePNG(t, fmt.Sprintf("%s %v", name, size), file.Bytes())
		}
	}
}

func comparePNG(t *testing.T, name string, file []byte) {
	t.Helper()
	want, err := stdpng.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	reference, err := newImageRows(want)
	if err != nil {
		t.Fatal(err)
	}
	h, got, err := decodeAll(file, Options{Alpha: Drop})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	row := make([]byte, 3*h.Width)
	for y := range h.Height {
		if err := reference.ReadRow(row, nil); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(row, got[3*y*h.Width:][:3*h.Width]) {
			t.Errorf("%s: row %d differs", name, y)
		}
	}
}
