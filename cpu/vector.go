package cpu

// plainCombine replaces dst by a*dst + b*x. The conversions keep products from being fused: with factors of 1 this is
// a sum.
func plainCombine(dst []float32, a, b float32, x []float32) {
	for i, v := range x {
		dst[i] = float32(a*dst[i]) + float32(b*v)
	}
}

func plainMaximum(x []float32) float32 {
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	return m
}
