package resize

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// worked holds sizes that were computed by the reference: source, processed, grid and soft tokens at budget 280.
var worked = []struct{ w, h, wide, tall, gridW, gridH, patches, soft int }{
	{1, 1, 768, 768, 48, 48, 2304, 256},
	{48, 48, 768, 768, 48, 48, 2304, 256},
	{224, 224, 768, 768, 48, 48, 2304, 256},
	{1000, 1000, 768, 768, 48, 48, 2304, 256},
	{200, 100, 1104, 528, 69, 33, 2277, 253},
	{300, 200, 960, 624, 60, 39, 2340, 260},
	{6000, 4000, 960, 624, 60, 39, 2340, 260},
	{640, 480, 912, 672, 57, 42, 2394, 266},
	{4032, 3024, 912, 672, 57, 42, 2394, 266},
	{8000, 6000, 912, 672, 57, 42, 2394, 266},
	{768, 1024, 672, 912, 42, 57, 2394, 266},
	{2480, 3508, 672, 912, 42, 57, 2394, 266}, // A4
	{1920, 1080, 1056, 576, 66, 36, 2376, 264},
	{1080, 1920, 576, 1056, 36, 66, 2376, 264},
	{1170, 2532, 528, 1152, 33, 72, 2376, 264},
	{960, 672, 960, 672, 60, 42, 2520, 280}, // no resize
	{480, 336, 960, 672, 60, 42, 2520, 280},
	{1440, 1008, 960, 672, 60, 42, 2520, 280},
	{110, 77, 912, 672, 57, 42, 2394, 266},    // exact arithmetic says 960x672
	{55, 154, 432, 1344, 27, 84, 2268, 252},   // exact arithmetic says 480x1344
	{340, 238, 912, 624, 57, 39, 2223, 247},   // exact arithmetic says 960x672
	{2380, 136, 3312, 144, 207, 9, 1863, 207}, // exact arithmetic says 3360x192
	{10000, 50, 11328, 48, 708, 3, 2124, 236},
	{279, 1, 13392, 48, 837, 3, 2511, 279},
	{280, 1, 13440, 48, 840, 3, 2520, 280},
	{281, 1, 13440, 48, 840, 3, 2520, 280},   // a side rounds to zero
	{20, 5601, 48, 13440, 3, 840, 2520, 280}, // a side rounds to zero
	{32768, 1, 13440, 48, 840, 3, 2520, 280},
	{32768, 1525, 3696, 144, 231, 9, 2079, 231},
}

func TestTargetEqualsTheWorkedTable(t *testing.T) {
	for _, w := range worked {
		got, err := Target(w.w, w.h, 280, 16, 3)
		if err != nil {
			t.Errorf("%dx%d: %v", w.w, w.h, err)
			continue
		}
		want := Geometry{w.wide, w.tall, w.gridW, w.gridH, w.soft}
		if got != want || got.Patches() != w.patches {
			t.Errorf("%dx%d: got %+v with %d patches, want %+v with %d", w.w, w.h, got, got.Patches(), want, w.patches)
		}
	}
}

func TestTargetAtOtherBudgets(t *testing.T) {
	cases := []struct{ w, h, budget, wide, tall, soft int }{
		{4032, 3024, 70, 432, 336, 63},
		{4032, 3024, 140, 624, 480, 130},
		{4032, 3024, 560, 1296, 960, 540},
		{4032, 3024, 1120, 1824, 1344, 1064},
		{1920, 1080, 70, 528, 288, 66},
		{1920, 1080, 140, 720, 384, 120},
		{1920, 1080, 560, 1488, 816, 527},
		{1920, 1080, 1120, 2112, 1200, 1100},
		{1000, 1000, 70, 384, 384, 64},
		{1000, 1000, 140, 528, 528, 121},
		{1000, 1000, 560, 1104, 1104, 529},
		{1000, 1000, 1120, 1584, 1584, 1089},
		{10000, 50, 70, 3360, 48, 70},
		{10000, 50, 140, 6720, 48, 140},
		{10000, 50, 560, 16032, 48, 334},
		{10000, 50, 1120, 22704, 96, 946},
	}
	for _, c := range cases {
		got, err := Target(c.w, c.h, c.budget, 16, 3)
		if err != nil {
			t.Errorf("%dx%d at %d: %v", c.w, c.h, c.budget, err)
			continue
		}
		if got.Width != c.wide || got.Height != c.tall || got.SoftTokens != c.soft {
			t.Errorf("%dx%d at %d: got %dx%d, %d soft tokens; want %dx%d, %d", c.w, c.h, c.budget,
				got.Width, got.Height, got.SoftTokens, c.wide, c.tall, c.soft)
		}
	}
}

func TestTargetKeepsItsPromisesForEverySize(t *testing.T) {
	for _, budget := range Budgets() {
		area := budget * 48 * 48
		for w := 1; w < 40000; w = w*5/4 + 1 {
			for h := 1; h < 40000; h = h*6/5 + 1 {
				g, err := Target(w, h, budget, 16, 3)
				if err != nil {
					t.Fatalf("%dx%d at %d: %v", w, h, budget, err)
				}
				if g.Width%48 != 0 || g.Height%48 != 0 || g.Width*g.Height > area || g.SoftTokens < 1 ||
					g.SoftTokens > budget || g.Patches() != 9*g.SoftTokens {
					t.Fatalf("%dx%d at %d: %+v", w, h, budget, g)
				}
			}
		}
	}
}

func TestSizesWithoutAreaAreRefused(t *testing.T) {
	for _, s := range [][2]int{{0, 1}, {1, 0}, {0, 0}, {-1, 5}, {5, -1}, {math.MaxInt64, 2}, {2, math.MaxInt64}} {
		if _, err := Target(s[0], s[1], 280, 16, 3); !errors.Is(err, ErrSize) {
			t.Errorf("%v: got %v, want ErrSize", s, err)
		}
	}
}

func TestOnlyTrainedBudgetsPass(t *testing.T) {
	for _, n := range Budgets() {
		if err := CheckBudget(n); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []int{-1, 0, 69, 71, 256, 1121} {
		if err := CheckBudget(n); !errors.Is(err, ErrBudget) {
			t.Errorf("%d: got %v, want ErrBudget", n, err)
		}
	}
}

func TestShrinkIsTheLinearFactor(t *testing.T) {
	g := Geometry{Width: 912, Height: 672}
	for _, c := range []struct {
		w, h int
		want string
	}{{912, 672, "1.00"}, {1824, 1344, "2.00"}, {456, 336, "0.50"}, {4032, 3024, "4.46"}} {
		if got := fmt.Sprintf("%.2f", g.Shrink(c.w, c.h)); got != c.want {
			t.Errorf("%dx%d: got %s, want %s", c.w, c.h, got, c.want)
		}
	}
}
