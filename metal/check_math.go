package metal

import (
	"math"

	"github.com/fieldfare/fieldfare/core"
)

// What the kernels are compared with: plain loops in float64.

// row dequantizes output o of w: exact in float64.
func row(w core.Affine, o int) []float64 {
	values := make([]float64, w.In)
	for i := range values {
		at, g := o*w.In+i, (o*w.In+i)/groupSize
		code := w.Codes[at*w.Bits/8]
		if w.Bits == 4 {
			code = code >> (4 * (i % 2)) & 15
		}
		values[i] = bf16At(w.Scales, g)*float64(code) + bf16At(w.Biases, g)
	}
	return values
}

// dot is the product of two rows, and the sum of the absolute terms: what rounding errors are measured by.
func dot(w []float64, x []float32) (sum, magnitude float64) {
	for i, v := range w {
		term := v * float64(x[i])
		sum += term
		magnitude += math.Abs(term)
	}
	return sum, magnitude
}

// rms is RMSNorm in float64; a nil w stands for ones.
func rms(x []float32, w []float64, eps float32) []float64 {
	squares := 0.0
	for _, v := range x {
		squares += float64(v) * float64(v)
	}
	scale := 1 / math.Sqrt(squares/float64(len(x))+float64(eps))
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v) * scale
		if w != nil {
			y[i] *= w[i]
		}
	}
	return y
}

func geluOf(t float64) float64 {
	return 0.5 * t * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(t+0.044715*t*t*t)))
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
