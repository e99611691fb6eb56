package cpu

import "math"

// plainSoftcap bounds logits: limit*tanh(x/limit).
func plainSoftcap(x []float32, limit float32) {
	for i, v := range x {
		x[i] = limit * float32(math.Tanh(float64(v/limit)))
	}
}
