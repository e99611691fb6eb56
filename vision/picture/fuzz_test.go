package picture

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// seeds adds the images of the table.
func seeds(f *testing.F, add func(data []byte)) {
	names, err := filepath.Glob(filepath.Join(imagesDir, "*.*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 6000 {
			add(data)
		}
	}
}

// named reports whether err is one of the package's refusals of a file; a decoder that panicked is not.
func named(err error) bool {
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return true
		}
	}
	return errors.Is(err, ErrEncodedBytes)
}

func FuzzInspect(f *testing.F) {
	seeds(f, func(data []byte) { f.Add(data, true) })
	f.Fuzz(func(t *testing.T, data []byte, tiff bool) {
		h, err := Inspect(data, Options{TIFF: tiff})
		if err != nil {
			if !named(err) {
				t.Fatalf("unnamed error: %v", err)
			}
			return
		}
		pixels := int64(h.Width) * int64(h.Height)
		if h.Width < 1 || h.Height < 1 || h.Width > 32768 || h.Height > 32768 || pixels > 50_000_000 || h.Frames != 1 ||
			h.Orientation < 1 || h.Orientation > 8 || h.WorkingBytes() < 0 {
			t.Fatalf("admitted %+v", h)
		}
	})
}

func FuzzDecode(f *testing.F) {
	seeds(f, func(data []byte) { f.Add(data, 0, true, false); f.Add(data, 2, true, true) })
	f.Fuzz(func(t *testing.T, data []byte, frame int, tiff, drop bool) {
		opts := Options{TIFF: tiff, Frame: frame, Limits: Limits{Pixels: 1 << 18, Side: 1 << 13}}
		if drop {
			opts.Alpha = Drop
		}
		if _, _, err := decodeAll(data, opts); err != nil && !named(err) {
			t.Fatalf("unnamed error: %v", err)
		}
	})
}
