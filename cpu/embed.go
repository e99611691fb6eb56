package cpu

import "github.com/fieldfare/fieldfare/core"

// embedRow writes row id of the table times factor. scale*code is exact in float32 and the sum rounds once.
func embedRow(dst []float32, table core.Affine, id int, factor float32) {
	widenCodes(dst, table, id)
	groups := table.In / groupSize
	for g := range groups {
		s, b := vectorAt(table.Scales, id*groups+g), vectorAt(table.Biases, id*groups+g)
		for i, code := range dst[g*groupSize:][:groupSize] {
			dst[g*groupSize+i] = (float32(s*code) + b) * factor
		}
	}
}
