package resize

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

type golden struct {
	Pattern     string
	Seed        int
	From, To    [2]int
	Torchvision string
	Pillow      string
	LargestGap  int
}

func readGoldens(t *testing.T) []golden {
	t.Helper()
	data, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []golden }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// noise and waves repeat the generators of testdata/make_goldens.py.
func noise(w, h, seed int) []byte {
	px := make([]byte, w*h*3)
	for i := range px {
		x := (uint32(i) + uint32(seed)) * 0x9E3779B1
		x ^= x >> 15
		x *= 0x85EBCA77
		x ^= x >> 13
		px[i] = byte(x)
	}
	return px
}

func waves(w, h, seed int) []byte {
	px := make([]byte, w*h*3)
	for i := range px {
		c, x, y := i%3, i/3%w, i/3/w
		a := (x*(3+c) + y*2 + seed*17) % 510
		if a > 255 {
			a = 510 - a
		}
		px[i] = byte(a)
	}
	return px
}

// pixels is a Source over a whole picture.
type pixels struct {
	px   []byte
	fail error // returned once the rows are used up
}

func (p *pixels) ReadRow(dst []byte) error {
	if len(p.px) < len(dst) {
		return p.fail
	}
	copy(dst, p.px)
	p.px = p.px[len(dst):]
	return nil
}

func TestPixelsEqualThoseOfTorchvisionAndPillow(t *testing.T) {
	for _, g := range readGoldens(t) {
		pattern := map[string]func(w, h, seed int) []byte{"noise": noise, "waves": waves}[g.Pattern]
		px := pattern(g.From[0], g.From[1], g.Seed)
		for filter, want := range map[Filter]string{Torchvision: g.Torchvision, Pillow: g.Pillow} {
			t.Run(fmt.Sprintf("%s/%dx%d to %dx%d/%s", filter, g.From[0], g.From[1], g.To[0], g.To[1], g.Pattern), func(t *testing.T) {
				t.Parallel()
				got, err := Rows(&pixels{px: px}, g.From[0], g.From[1], Turn{}, g.To[0], g.To[1], filter)
				if err != nil {
					t.Fatal(err)
				}
				sum := sha256.Sum256(got)
				if hex.EncodeToString(sum[:]) != want {
					t.Errorf("pixels have SHA-256 %x, the reference's %s", sum, want)
				}
			})
		}
	}
}

// turned is the picture after turning, pixel by pixel: what Rows must agree with.
func turned(px []byte, w, h int, turn Turn) (out []byte, ow, oh int) {
	ow, oh = w, h
	if turn.Transpose {
		ow, oh = h, w
	}
	out = make([]byte, len(px))
	for y := range oh {
		for x := range ow {
			sx, sy := x, y
			if turn.Transpose {
				sx, sy = y, x
			}
			if turn.FlipX {
				sx = w - 1 - sx
			}
			if turn.FlipY {
				sy = h - 1 - sy
			}
			copy(out[(y*ow+x)*3:][:3], px[(sy*w+sx)*3:])
		}
	}
	return out, ow, oh
}

func TestTurningWhileResizingEqualsTurningFirst(t *testing.T) {
	sizes := [][4]int{{31, 17, 48, 96}, {97, 203, 48, 48}, {64, 48, 48, 64}, {48, 64, 48, 64}, {1, 5, 48, 96}, {300, 7, 96, 48}}
	for _, s := range sizes {
		px := noise(s[0], s[1], 7)
		for bits := range 8 {
			turn := Turn{Transpose: bits&4 != 0, FlipX: bits&2 != 0, FlipY: bits&1 != 0}
			for _, f := range []Filter{Torchvision, Pillow} {
				first, w, h := turned(px, s[0], s[1], turn)
				want, err := Rows(&pixels{px: first}, w, h, Turn{}, s[2], s[3], f)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Rows(&pixels{px: px}, s[0], s[1], turn, s[2], s[3], f)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != string(want) {
					t.Errorf("%v %+v %s: pixels differ from turning first", s, turn, f)
				}
			}
		}
	}
}

func TestFlatPictureStaysFlat(t *testing.T) {
	// Rounded weights need not sum to one; the reference's largest deviation for a flat picture is one level.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		w, h := 1+rng.IntN(700), 1+rng.IntN(700)
		level := byte(rng.IntN(256))
		px := make([]byte, w*h*3)
		for i := range px {
			px[i] = level
		}
		got, err := Rows(&pixels{px: px}, w, h, Turn{}, 96, 144, Filter(rng.IntN(2)))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range got {
			if d := int(v) - int(level); d > 1 || d < -1 {
				t.Fatalf("%dx%d of level %d gave %d", w, h, level, v)
			}
		}
	}
}

func TestSourceErrorIsReturned(t *testing.T) {
	for _, turn := range []Turn{{}, {Transpose: true}} {
		_, err := Rows(&pixels{px: noise(10, 9, 0), fail: io.ErrUnexpectedEOF}, 10, 10, turn, 48, 48, Torchvision)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%+v: got %v", turn, err)
		}
	}
}

func TestFilterNamesRoundTrip(t *testing.T) {
	for _, f := range []Filter{Torchvision, Pillow} {
		if got, err := ParseFilter(f.String()); err != nil || got != f {
			t.Errorf("%s: got %v, %v", f, got, err)
		}
	}
	if _, err := ParseFilter("lanczos"); !errors.Is(err, ErrFilter) {
		t.Errorf("lanczos: got %v", err)
	}
}

func BenchmarkRows(b *testing.B) {
	const w, h = 4032, 3024
	px := noise(w, h, 1)
	for _, turn := range []Turn{{}, {Transpose: true}} {
		b.Run(fmt.Sprintf("transpose=%v", turn.Transpose), func(b *testing.B) {
			b.SetBytes(w * h * 3)
			b.ReportAllocs()
			for b.Loop() {
				wide, tall := 912, 672
				if turn.Transpose {
					wide, tall = tall, wide
				}
				if _, err := Rows(&pixels{px: px}, w, h, turn, wide, tall, Torchvision); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
