package vision

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"image/png"
	"runtime"
	"testing"
)

// big is a 48-megapixel picture of flat stripes, which encode and decode quickly.
func big() *image.YCbCr {
	m := image.NewYCbCr(image.Rect(0, 0, 8000, 6000), image.YCbCrSubsampleRatio420)
	for y := range 6000 {
		if y/64%2 == 0 {
			row := m.Y[y*m.YStride:][:8000]
			for x := range row {
				row[x] = 200
			}
		}
	}
	return m
}

func TestPicturesOf48MegapixelsStayWithinTheBudget(t *testing.T) {
	// All that is ever allocated bounds what is held at once. 250 MB are promised; streaming needs a twentieth.
	const promised, expected = 250_000_000, 13_000_000
	var asJPEG, asPNG bytes.Buffer
	m := big()
	if err := jpeg.Encode(&asJPEG, m, &jpeg.Options{Quality: 60}); err != nil {
		t.Fatal(err)
	}
	grey := &image.Gray{Pix: m.Y, Stride: m.YStride, Rect: m.Rect}
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&asPNG, grey); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"JPEG": asJPEG.Bytes(), "PNG": asPNG.Bytes()} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		plan, err := Admit(data, 280, PictureOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Prepare(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		took := int64(after.TotalAlloc - before.TotalAlloc)
		t.Logf("%s: %d bytes allocated, %d predicted, %.1f s", name, took, plan.WorkingBytes(), p.Receipt.Seconds)
		if took > expected || took > promised {
			t.Errorf("%s: %d bytes allocated, expected at most %d", name, took, expected)
		}
		if took > plan.WorkingBytes()+1<<20 {
			t.Errorf("%s: %d bytes allocated, the plan says %d", name, took, plan.WorkingBytes())
		}
	}
}
