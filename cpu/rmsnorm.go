package cpu

import (
	"math"

	"github.com/fieldfare/fieldfare/core"
)

// norm is RMSNorm: dst[i] = x[i] * (mean(x^2) + eps)^(-1/2) * w[i]. A nil w stands for ones; w multiplies as it is, no
// 1 is added. dst may be x.
func (k *kernelSet) norm(dst, x []float32, w core.Vector, eps float32) {
	k.scaleNorm(dst, x, float32(1/math.Sqrt(float64(k.meanSquare(x)+eps))), w)
}

func plainMeanSquare(x []float32) float32 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return float32(sum / float64(len(x)))
}

func plainScaleNorm(dst, x []float32, scale float32, w core.Vector) {
	if w == nil {
		for i, v := range x {
			dst[i] = v * scale
		}
		return
	}
	for i, v := range x {
		dst[i] = v * scale * vectorAt(w, i)
	}
}
