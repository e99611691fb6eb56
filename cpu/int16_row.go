//go:build (amd64 || arm64) && !noasm

package cpu

import "unsafe"

// An int16Row is a packed row of activations of 16 bits, each group of 64 with a scale of its own: a step is 2^-15 of
// the group's largest magnitude, 1/128 of what bfloat16 loses there. The integers take the place of half of the
// activations, the scales come after them, the sums stay where the other sets have them.
type int16Row struct {
	integers     unsafe.Pointer // 128 bytes a group, in the order of the kernel set
	scales, sums *float32
}

func int16RowAt(row []float32, in int) int16Row {
	return int16Row{unsafe.Pointer(&row[0]), &row[in/2], &row[in]}
}

// clearInt16Row zeroes what is padded: the ends of scales and sums.
func clearInt16Row(row []float32, in int) {
	clear(row[in/2:][:(in/groupSize+7)&^7])
	clear(row[in:packedLen(in)])
}
