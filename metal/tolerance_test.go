package metal

// tolerance holds the largest accepted distances from the CPU backend, relative to the largest value of the result. Sums
// of n products in f32 are good to about sqrt(n) * 2^-24 of their magnitude in either backend; the table leaves a factor
// of ten. Where keys and values are stored in FP16, values near a rounding boundary fall to different sides: one step of
// 2^-11 in single elements, which attention averages.
var tolerance = struct {
	model, modelHalf float64 // logits and residual of a small random model
	tower            float64 // pooled rows and soft tokens
	golden           float64 // logits of the demo model, K and V in FP16
}{
	model: 1e-4, modelHalf: 2e-3, tower: 1e-4, golden: 1e-3,
}
