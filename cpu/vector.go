package cpu

// plainAddScaled adds a*x to dst. The conversion keeps the product from being fused: with a = 1 the sum is exact.
func plainAddScaled(dst []float32, a float32, x []float32) {
	for i, v := range x {
		dst[i] += float32(a * v)
	}
}
