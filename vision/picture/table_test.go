package picture

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const imagesDir = "../../testdata/images"

// tableCase is an entry of expected.json, which make_images.py wrote.
type tableCase struct {
	File        string
	Frame       int
	TIFF        bool
	Error       string // sentinel, or empty
	Says        string // part of the message
	Size        [2]int
	Orientation int
	RGB, White  string // SHA-256 of the upright pixels; RGB is empty where nothing is said
	Notes       int
}

func (c tableCase) name() string {
	if c.Frame > 0 {
		return fmt.Sprintf("%s@%d", c.File, c.Frame)
	}
	return c.File
}

func (c tableCase) options(a Alpha) Options { return Options{Alpha: a, Frame: c.Frame, TIFF: c.TIFF} }

var sentinels = map[string]error{
	"ErrFormat": ErrFormat, "ErrHEIF": ErrHEIF, "ErrAVIF": ErrAVIF, "ErrTIFF": ErrTIFF, "ErrUnsupported": ErrUnsupported,
	"ErrDamaged": ErrDamaged, "ErrTruncated": ErrTruncated, "ErrZeroSize": ErrZeroSize, "ErrSide": ErrSide,
	"ErrPixels": ErrPixels, "ErrDecodedBytes": ErrDecodedBytes, "ErrAnimated": ErrAnimated, "ErrFrame": ErrFrame,
}

func readTable(t testing.TB) []tableCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(imagesDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []tableCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func readImage(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(imagesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decodeAll runs the whole path and returns the stored pixels.
func decodeAll(data []byte, opts Options) (*Header, []byte, error) {
	h, err := Inspect(data, opts)
	if err != nil {
		return nil, nil, err
	}
	r, err := Decode(data, h, opts)
	if err != nil {
		return h, nil, err
	}
	px := make([]byte, 3*h.Width*h.Height)
	for y := range h.Height {
		if err := r.ReadRow(px[3*y*h.Width:][:3*h.Width]); err != nil {
			return h, nil, err
		}
	}
	return h, px, nil
}

// upright moves stored pixels to where the Exif specification says they are seen.
func upright(px []byte, h *Header) []byte {
	w, ht := h.Width, h.Height
	ow, oh := h.Oriented()
	out := make([]byte, len(px))
	for y := range oh {
		for x := range ow {
			var sx, sy int
			switch h.Orientation {
			case 1:
				sx, sy = x, y
			case 2:
				sx, sy = w-1-x, y
			case 3:
				sx, sy = w-1-x, ht-1-y
			case 4:
				sx, sy = x, ht-1-y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, ht-1-x
			case 7:
				sx, sy = w-1-y, ht-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			copy(out[3*(y*ow+x):][:3], px[3*(sy*w+sx):])
		}
	}
	return out
}

func TestEveryFileOfTheTable(t *testing.T) {
	files := map[string]bool{}
	for _, c := range readTable(t) {
		files[c.File] = true
		t.Run(c.name(), func(t *testing.T) {
			data := readImage(t, c.File)
			if c.Error != "" {
				checkRefused(t, c, data)
				return
			}
			for _, a := range []Alpha{White, Drop} {
				checkPixels(t, c, data, a)
			}
		})
	}
	if len(files) < 60 {
		t.Errorf("the table covers %d files, at least 60 are promised", len(files))
	}
}

func checkRefused(t *testing.T, c tableCase, data []byte) {
	want, ok := sentinels[c.Error]
	if !ok {
		t.Fatalf("expected.json names %s, which the test does not know", c.Error)
	}
	_, _, err := decodeAll(data, c.options(White))
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %s", err, c.Error)
	}
	for name, other := range sentinels {
		if name != c.Error && errors.Is(err, other) {
			t.Errorf("the error is also %s: %v", name, err)
		}
	}
	if !strings.Contains(err.Error(), c.Says) {
		t.Errorf("message %q lacks %q", err, c.Says)
	}
	if Hint(err) == "" && c.Error != "ErrZeroSize" {
		t.Errorf("no hint for %v", err)
	}
}

func checkPixels(t *testing.T, c tableCase, data []byte, a Alpha) {
	h, px, err := decodeAll(data, c.options(a))
	if err != nil {
		t.Fatal(err)
	}
	if h.Width != c.Size[0] || h.Height != c.Size[1] || int(h.Orientation) != c.Orientation || len(h.Notes) != c.Notes {
		t.Fatalf("got %dx%d, orientation %d, notes %q; want %v, orientation %d, %d notes", h.Width, h.Height, h.Orientation,
			h.Notes, c.Size, c.Orientation, c.Notes)
	}
	want := map[Alpha]string{White: c.White, Drop: c.RGB}[a]
	if sum := sha256.Sum256(upright(px, h)); want != "" && hex.EncodeToString(sum[:]) != want {
		t.Errorf("alpha %s: pixels differ from the expected", a)
	}
}
