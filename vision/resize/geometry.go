package resize

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrSize: the picture has no area, or no target size can be computed for it.
	ErrSize = errors.New("picture size has no target size")
	// ErrBudget: the soft-token budget is not one the model was trained with.
	ErrBudget = errors.New("unsupported soft-token budget")
)

// Budgets are the soft tokens per picture that the model was trained with, ascending.
func Budgets() []int { return []int{70, 140, 280, 560, 1120} }

// CheckBudget returns an error that wraps ErrBudget unless n is one of Budgets.
func CheckBudget(n int) error {
	if slices.Contains(Budgets(), n) {
		return nil
	}
	return fmt.Errorf("%w %d: expected one of %v", ErrBudget, n, Budgets())
}

// Geometry is what the size of a picture and a budget decide.
type Geometry struct {
	Width, Height int // pixels after resizing
	GridW, GridH  int // patches
	SoftTokens    int
}

// Patches is the number of patches, GridW*GridH.
func (g Geometry) Patches() int { return g.GridW * g.GridH }

// Target computes the size to which a w by h picture, as people see it, is resized: the largest multiples of
// patch*pool that keep its shape and need at most maxSoftTokens. Small pictures are enlarged. Errors wrap ErrSize.
//
// The float64 steps stand in the reference's order. Where the exact quotient is a whole number they can fall just
// below it and lose patch*pool pixels (110x77 does); every implementation inherits that, so it must not be tidied.
func Target(w, h, maxSoftTokens, patch, pool int) (Geometry, error) {
	if w <= 0 || h <= 0 || w > math.MaxInt32 || h > math.MaxInt32 {
		return Geometry{}, fmt.Errorf("%w: %dx%d", ErrSize, w, h)
	}
	if maxSoftTokens <= 0 || patch <= 0 || pool <= 0 {
		panic(fmt.Sprintf("BUG: target size for %d soft tokens of %d by %d patches of %d", maxSoftTokens, pool, pool, patch))
	}
	side := patch * pool
	area := maxSoftTokens * side * side
	longest := maxSoftTokens * side

	f := math.Sqrt(float64(area) / float64(h*w))
	tall := int(math.Floor(f*float64(h)/float64(side))) * side
	wide := int(math.Floor(f*float64(w)/float64(side))) * side
	switch {
	case tall == 0 && wide == 0:
		return Geometry{}, fmt.Errorf("%w: %dx%d at %d soft tokens", ErrSize, w, h, maxSoftTokens)
	case tall == 0:
		tall, wide = side, min(w/h*side, longest)
	case wide == 0:
		wide, tall = side, min(h/w*side, longest)
	}
	if wide*tall > area {
		return Geometry{}, fmt.Errorf("%w: %dx%d needs %dx%d, above %d pixels", ErrSize, w, h, wide, tall, area)
	}
	return Geometry{
		Width: wide, Height: tall,
		GridW: wide / patch, GridH: tall / patch,
		SoftTokens: (wide / side) * (tall / side),
	}, nil
}

// Shrink is the linear factor by which a w by h picture was reduced: 4 means that four pixels became one along each
// side; below 1 it was enlarged.
func (g Geometry) Shrink(w, h int) float64 {
	return math.Sqrt(float64(w) * float64(h) / (float64(g.Width) * float64(g.Height)))
}
