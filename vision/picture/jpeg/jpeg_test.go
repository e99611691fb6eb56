package jpeg

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math"
	"math/rand/v2"
	"testing"
)

// exactIDCT is the definition, T.81 A.3.3, in float64.
func exactIDCT(block *[64]int16, quant *[64]int32) [64]float64 {
	var out [64]float64
	for y := range 8 {
		for x := range 8 {
			var sum float64
			for v := range 8 {
				for u := range 8 {
					c := 1.0
					if u == 0 {
						c *= math.Sqrt2 / 2
					}
					if v == 0 {
						c *= math.Sqrt2 / 2
					}
					sum += c * float64(int32(block[8*v+u])*quant[8*v+u]) *
						math.Cos(float64(2*x+1)*float64(u)*math.Pi/16) * math.Cos(float64(2*y+1)*float64(v)*math.Pi/16)
				}
			}
			out[8*y+x] = sum/4 + 128
		}
	}
	return out
}

func TestInverseDCTIsWithinOneLevelOfTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 2000 {
		var block [64]int16
		var quant [64]int32
		filled := trial % 65
		for i := range quant {
			quant[i] = int32(1 + rng.IntN(20))
		}
		for i := range filled {
			at := zigzag[i]
			block[at] = int16((rng.IntN(401) - 200) / int(quant[at]) / (1 + i/4))
		}
		want := exactIDCT(&block, &quant)
		got := make([]byte, 64)
		inverseDCT(&block, &quant, got, 8)
		for i := range got {
			w := min(max(want[i], 0), 255)
			if math.Abs(float64(got[i])-w) > 1 {
				t.Fatalf("trial %d, sample %d: got %d, want %.2f", trial, i, got[i], w)
			}
		}
	}
}

func TestFlatBlockTakesTheSameValueAsTheWholeTransform(t *testing.T) {
	for dc := -1200; dc <= 1200; dc++ {
		block := [64]int16{int16(dc)}
		quant := [64]int32{1}
		short, long := make([]byte, 64), make([]byte, 64)
		inverseDCT(&block, &quant, short, 8)
		block[63], quant[63] = 1, 0 // not flat to look at, but nothing to add
		inverseDCT(&block, &quant, long, 8)
		if !bytes.Equal(short, long) {
			t.Fatalf("DC %d: %v against %v", dc, short[:8], long[:8])
		}
	}
}

// TestHuffmanCodesEqualTheirListing decodes every code of a table, spelled out by the rule of T.81 annex C.
func TestHuffmanCodesEqualTheirListing(t *testing.T) {
	counts := []byte{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 100}
	var symbols []byte
	for i := range 137 {
		symbols = append(symbols, byte(i*7))
	}
	h, err := newHuffman(counts, symbols)
	if err != nil {
		t.Fatal(err)
	}
	code, k := uint32(0), 0
	for length := uint(1); length <= 16; length++ {
		for range counts[length-1] {
			b := bits{acc: uint64(code)<<32 | 0x5A5A5A5A, n: length + 32}
			got, ok := b.symbol(h)
			if !ok || got != symbols[k] || b.n != 32 {
				t.Fatalf("code %0*b: got %d, %v with %d bits left; want %d with 32", length, code, got, ok, b.n, symbols[k])
			}
			code++
			k++
		}
		code <<= 1
	}
	b := bits{acc: 0xFFFFFFFF, n: 32}
	if s, ok := b.symbol(h); ok {
		t.Errorf("a code that the table lacks gave %d", s)
	}
}

func TestTablesWithTooManyCodesAreRefused(t *testing.T) {
	for _, counts := range [][]byte{
		{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, err := newHuffman(counts, make([]byte, 8)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: got %v, want ErrDamaged", counts, err)
		}
	}
}

func TestExtendedValuesEqualTableF1(t *testing.T) {
	for k := uint(1); k <= 15; k++ {
		for _, code := range []uint64{0, 1, 1<<(k-1) - 1, 1 << (k - 1), 1<<k - 1} {
			want := int32(code)
			if code>>(k-1)&1 == 0 {
				want = int32(code) - int32(1<<k) + 1
			}
			b := bits{acc: code<<20 | 12345, n: k + 20}
			if got := b.extended(k); got != want {
				t.Errorf("%d bits %b: got %d, want %d", k, code, got, want)
			}
		}
	}
}

func decode(t *testing.T, data []byte) (Header, []byte) {
	t.Helper()
	h, err := ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	px := make([]byte, 3*h.Width*h.Height)
	for y := range h.Height {
		if err := r.ReadRow(px[3*h.Width*y:][:3*h.Width]); err != nil {
			t.Fatal(err)
		}
	}
	return h, px
}

// TestSizesAroundBlocks compares with the standard decoder, whose transform differs by a level or two; grey files
// leave out its chroma.
func TestSizesAroundBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, w := range []int{1, 7, 8, 9, 16, 63, 64, 65} {
		for _, h := range []int{1, 8, 9, 17} {
			img := image.NewGray(image.Rect(0, 0, w, h))
			for y := range h {
				for x := range w {
					img.SetGray(x, y, color.Gray{uint8(3*x*y + rng.IntN(40))})
				}
			}
			var file bytes.Buffer
			if err := stdjpeg.Encode(&file, img, &stdjpeg.Options{Quality: 90}); err != nil {
				t.Fatal(err)
			}
			want, err := stdjpeg.Decode(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			_, got := decode(t, file.Bytes())
			for i := range w * h {
				d := int(got[3*i]) - int(want.(*image.Gray).GrayAt(i%w, i/w).Y)
				if d > 2 || d < -2 {
					t.Fatalf("%dx%d, pixel %d: differs by %d", w, h, i, d)
				}
			}
		}
	}
}

func TestTriangleUpsamplingKeepsRampsAndFlats(t *testing.T) {
	// A linear ramp interpolates to a ramp of half the step; a constant stays constant.
	src := []byte{10, 20, 30, 40, 50}
	dst := make([]byte, 10)
	upsampleWide(dst, src)
	if want := []byte{10, 13, 17, 23, 27, 33, 37, 43, 47, 50}; !bytes.Equal(dst, want) {
		t.Errorf("across: got %v, want %v", dst, want)
	}
	sums := make([]int32, 5)
	upsampleBoth(dst, src, []byte{50, 60, 70, 80, 90}, sums)
	if want := []byte{20, 22, 28, 32, 38, 42, 48, 52, 58, 60}; !bytes.Equal(dst, want) {
		t.Errorf("both ways: got %v, want %v", dst, want)
	}
	for v := range 256 {
		flat := bytes.Repeat([]byte{byte(v)}, 5)
		upsampleBoth(dst, flat, flat, sums)
		if !bytes.Equal(dst, bytes.Repeat([]byte{byte(v)}, 10)) {
			t.Fatalf("level %d does not stay: %v", v, dst)
		}
	}
}

func TestCMYKConvertsByTheStatedFormula(t *testing.T) {
	// Inks 10, 100, 200 and black 40 give 207, 131, 46.
	lines := [4][]byte{{255 - 10}, {255 - 100}, {255 - 200}, {255 - 40}}
	dst := make([]byte, 3)
	cmykRow(dst, lines)
	if want := []byte{207, 131, 46}; !bytes.Equal(dst, want) {
		t.Errorf("got %v, want %v", dst, want)
	}
}

func BenchmarkDecode(b *testing.B) {
	img := image.NewYCbCr(image.Rect(0, 0, 2000, 1500), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = byte(i>>3 ^ i>>14)
	}
	var file bytes.Buffer
	if err := stdjpeg.Encode(&file, img, &stdjpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	row := make([]byte, 3*2000)
	b.SetBytes(2000 * 1500 * 3)
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(file.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		for range 1500 {
			if err := r.ReadRow(row); err != nil {
				b.Fatal(err)
			}
		}
	}
}
