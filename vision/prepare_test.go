package vision

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/vision/resize"
)

func readFile(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", "testdata"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPatchesEqualTheReferenceByteForByte(t *testing.T) {
	var goldens []struct {
		File    string
		Patches [2]int
		First   []int
		SHA256  string
	}
	if err := json.Unmarshal(readFile(t, "goldens", "pixels.json"), &goldens); err != nil {
		t.Fatal(err)
	}
	if len(goldens) != 9 {
		t.Fatalf("pixels.json names %d pictures, expected 9", len(goldens))
	}
	for _, g := range goldens {
		p, err := Prepare(context.Background(), readFile(t, "goldens", g.File), 70, PictureOptions{})
		if err != nil {
			t.Errorf("%s: %v", g.File, err)
			continue
		}
		if got := [2]int{p.GridW * p.GridH, len(p.Patches) / (p.GridW * p.GridH)}; got != g.Patches {
			t.Errorf("%s: patches have shape %v, want %v", g.File, got, g.Patches)
		}
		if sum := sha256.Sum256(p.Patches); hex.EncodeToString(sum[:]) != g.SHA256 {
			t.Errorf("%s: patches differ; the first begins with %v, the reference's with %v", g.File, p.Patches[:6], g.First)
		}
	}
}

func TestPatchOrder(t *testing.T) {
	// Each byte names its place: pixel (x, y) holds x, y and the channel, folded into a byte.
	const gridW, gridH, side = 5, 3, 4
	value := func(x, y, c int) byte { return byte(x*7 + y*31 + c*101) }
	var rgb []byte
	for y := range gridH * side {
		for x := range gridW * side {
			rgb = append(rgb, value(x, y, 0), value(x, y, 1), value(x, y, 2))
		}
	}
	got := Patches(rgb, gridW, gridH, side)
	for i := range gridW * gridH {
		for py := range side {
			for px := range side {
				for c := range 3 {
					want := value(i%gridW*side+px, i/gridW*side+py, c)
					if v := got[i*side*side*3+(py*side+px)*3+c]; v != want {
						t.Fatalf("patch %d, row %d, column %d, channel %d: got %d, want %d", i, py, px, c, v, want)
					}
				}
			}
		}
	}
}

func TestOrientedFilesGiveThePatchesOfTheUprightPicture(t *testing.T) {
	for o := 1; o <= 8; o++ {
		file := readFile(t, "images", fmt.Sprintf("jpeg-orientation-%d.jpg", o))
		for _, budget := range []int{70, 280} {
			got, err := Prepare(context.Background(), file, budget, PictureOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := Prepare(context.Background(), uprightPNG(t, file, o), budget, PictureOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.GridW != want.GridW || got.GridH != want.GridH || !bytes.Equal(got.Patches, want.Patches) {
				t.Errorf("orientation %d at %d: patches differ from those of the upright picture", o, budget)
			}
		}
	}
}

// uprightPNG turns the stored picture as the Exif specification says where row 0 and column 0 are seen.
func uprightPNG(t *testing.T, file []byte, orientation int) []byte {
	t.Helper()
	h, err := picture.Inspect(file, picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := picture.Decode(file, h, picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, ht := h.Oriented()
	out := image.NewNRGBA(image.Rect(0, 0, w, ht))
	row := make([]byte, 3*h.Width)
	for y := range h.Height {
		if err := rows.ReadRow(row); err != nil {
			t.Fatal(err)
		}
		for x := range h.Width {
			across, down := x, y // as seen
			switch orientation {
			case 2:
				across = w - 1 - x
			case 3:
				across, down = w-1-x, ht-1-y
			case 4:
				down = ht - 1 - y
			case 5:
				across, down = y, x
			case 6:
				across, down = w-1-y, x
			case 7:
				across, down = w-1-y, ht-1-x
			case 8:
				across, down = y, ht-1-x
			}
			out.SetNRGBA(across, down, color.NRGBA{row[3*x], row[3*x+1], row[3*x+2], 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDigestTellsPicturesAndTheirPreparationApart(t *testing.T) {
	opaque, transparent := readFile(t, "images", "png-rgb8.png"), readFile(t, "images", "png-rgba8.png")
	drop := PictureOptions{Picture: picture.Options{Alpha: picture.Drop}}
	animated := readFile(t, "images", "gif-animated-1.gif")
	second := PictureOptions{Picture: picture.Options{Frame: 2}}
	third := PictureOptions{Picture: picture.Options{Frame: 3}}
	digest := func(data []byte, budget int, o PictureOptions) [32]byte {
		t.Helper()
		p, err := Admit(data, budget, o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest
	}
	plain := digest(opaque, 280, PictureOptions{})
	if plain != digest(slices.Clone(opaque), 280, PictureOptions{Patch: 16, Pool: 3}) {
		t.Error("the same picture with the defaults spelled out has another digest")
	}
	if plain != digest(opaque, 280, drop) {
		t.Error("an opaque picture has another digest with alpha dropped, though its patches are the same")
	}
	differ := map[string][2][32]byte{
		"another picture":       {plain, digest(transparent, 280, PictureOptions{})},
		"another budget":        {plain, digest(opaque, 1120, PictureOptions{})},
		"another filter":        {plain, digest(opaque, 280, PictureOptions{Filter: resize.Pillow})},
		"alpha dropped":         {digest(transparent, 280, drop), digest(transparent, 280, PictureOptions{})},
		"another chosen frame":  {digest(animated, 280, second), digest(animated, 280, third)},
		"another pooling width": {plain, digest(opaque, 280, PictureOptions{Pool: 2})},
	}
	for what, d := range differ {
		if d[0] == d[1] {
			t.Errorf("%s: same digest", what)
		}
	}
}

func TestReceiptSaysWhatWasDone(t *testing.T) {
	p, err := Prepare(context.Background(), readFile(t, "images", "jpeg-orientation-6.jpg"), 70, PictureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Receipt
	if r.Format != "JPEG" || r.Width != 45 || r.Height != 31 || r.Orientation != 6 || r.Alpha != "none" ||
		r.Filter != "torchvision" || r.ProcessedWidth != 288 || r.ProcessedHeight != 480 || r.Budget != 70 ||
		r.SoftTokens != 60 || p.SoftTokens != 60 || r.Shrink > 0.2 || r.Shrink < 0.1 || r.Seconds <= 0 || len(r.SHA256) != 64 {
		t.Errorf("receipt %+v", r)
	}
	p, err = Prepare(context.Background(), readFile(t, "images", "png-rgba8.png"), 70, PictureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Receipt.Alpha != "white" {
		t.Errorf("a picture with alpha reports %q, want white", p.Receipt.Alpha)
	}
}

func TestPreviewGivesTheTokensOfEachBudget(t *testing.T) {
	receipts, err := Preview(readFile(t, "goldens", "image-png-describe.png"), resize.Budgets(), PictureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, r := range receipts {
		got = append(got, r.SoftTokens)
	}
	if want := []int{64, 121, 256, 529, 1089}; !slices.Equal(got, want) {
		t.Errorf("got %v soft tokens, want %v", got, want)
	}
}

func TestRefusalsReachTheCaller(t *testing.T) {
	ctx := context.Background()
	if _, err := Prepare(ctx, readFile(t, "images", "png-rgb8.png"), 100, PictureOptions{}); !errors.Is(err, resize.ErrBudget) {
		t.Errorf("budget 100: got %v", err)
	}
	if _, err := Prepare(ctx, readFile(t, "images", "heic.heic"), 280, PictureOptions{}); !errors.Is(err, picture.ErrHEIF) {
		t.Errorf("HEIC: got %v", err)
	}
	if _, err := Preview(readFile(t, "images", "png-bomb-30000.png"), []int{70}, PictureOptions{}); !errors.Is(err, picture.ErrPixels) {
		t.Errorf("bomb: got %v", err)
	}
}

func TestCancelledPreparationReturnsTheContextsError(t *testing.T) {
	p, err := Admit(readFile(t, "goldens", "image-png-describe.png"), 70, PictureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Prepare(ctx); err != context.Canceled {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, err := p.Prepare(context.Background()); err != nil {
		t.Errorf("the plan does not work after a cancelled attempt: %v", err)
	}
}
