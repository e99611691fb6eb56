package vision

import "fmt"

// Patches cuts a picture rgb, [gridH*side, gridW*side, 3], into squares of side by side pixels: [gridH*gridW,
// side*side*3]. Patches lie row-major over the grid; within one, rows come first, then columns, then R, G, B.
func Patches(rgb []byte, gridW, gridH, side int) []byte {
	if len(rgb) != gridW*gridH*side*side*3 {
		panic(fmt.Sprintf("BUG: %d bytes for %dx%d patches of %d", len(rgb), gridW, gridH, side))
	}
	out := make([]byte, len(rgb))
	line := side * 3
	for at := 0; at < len(rgb)/line; at++ { // stretches of one pixel row within one patch
		column, row := at%gridW, at/gridW
		patch := row/side*gridW + column
		copy(out[(patch*side+row%side)*line:][:line], rgb[at*line:])
	}
	return out
}
