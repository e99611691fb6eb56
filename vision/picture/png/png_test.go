package png

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// filtered applies a filter by the words of the specification, with values to the left of the row and above the
// picture taken as zero.
func filtered(filter byte, row, above []byte, step int) []byte {
	at := func(b []byte, i int) int {
		if i < 0 {
			return 0
		}
		return int(b[i])
	}
	out := make([]byte, len(row))
	for i := range row {
		a, b, c := at(row, i-step), at(above, i), at(above, i-step)
		var predicted int
		switch filter {
		case 1:
			predicted = a
		case 2:
			predicted = b
		case 3:
			predicted = (a + b) >> 1
		case 4:
			p := a + b - c
			distance := func(v int) int { return max(p-v, v-p) }
			predicted = a
			if distance(b) < distance(predicted) {
				predicted = b
			}
			if distance(c) < distance(predicted) {
				predicted = c
			}
		}
		out[i] = row[i] - byte(predicted)
	}
	return out
}

func TestUnfilterInvertsEveryFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65} {
		for _, step := range []int{1, 2, 3, 4, 6, 8} {
			for filter := range byte(5) {
				row, above := make([]byte, n), make([]byte, n)
				for i := range row {
					row[i], above[i] = byte(rng.Uint32()), byte(rng.Uint32())
				}
				got := filtered(filter, row, above, step)
				if !unfilter(filter, got, above, step) || !bytes.Equal(got, row) {
					t.Errorf("filter %d, %d bytes, %d a pixel: got %v, want %v", filter, n, step, got, row)
				}
			}
		}
	}
	if unfilter(5, nil, nil, 1) {
		t.Error("filter 5 passed")
	}
}

func TestPackedSamplesComeFromTheHighBitsFirst(t *testing.T) {
	row := []byte{0b10_11_00_01, 0b01_00_11_10}
	for _, c := range []struct {
		bits int
		want []int
	}{
		{1, []int{1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0}},
		{2, []int{2, 3, 0, 1, 1, 0, 3, 2}},
		{4, []int{11, 1, 4, 14}},
		{8, []int{0b10110001, 0b01001110}},
	} {
		for x, want := range c.want {
			if got := packed(row, x, c.bits); got != want {
				t.Errorf("sample %d of %d bits: got %d, want %d", x, c.bits, got, want)
			}
		}
	}
}
