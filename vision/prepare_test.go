package vision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	// The eight files hold the same stored picture, so those whose turns are inverse to each other must show it turned
	// the other way; sides swap before the target size is computed.
	sizes := map[int][2]int{}
	for o, name := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		p, err := Admit(readFile(t, "images", "jpeg-orientation-"+name+".jpg"), 280, PictureOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sizes[o+1] = [2]int{p.Geometry.Width, p.Geometry.Height}
	}
	want, err := resize.Target(45, 31, 280, 16, 3)
	if err != nil {
		t.Fatal(err)
	}
	for o, s := range sizes {
		if o >= 5 {
			s[0], s[1] = s[1], s[0]
		}
		if s != [2]int{want.Width, want.Height} {
			t.Errorf("orientation %d: got %v, want %dx%d", o, s, want.Width, want.Height)
		}
	}
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
