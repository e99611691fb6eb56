//go:build !noasm

package cpu

import (
	"math"

	"github.com/fieldfare/fieldfare/core"
)

// avx2Kernels needs AVX2, FMA and F16C. The assembly handles whole registers; the wrappers here bring everything else
// into that form.
var avx2Kernels = &kernelSet{
	name:       "avx2",
	pack:       avx2Pack,
	affine:     avx2Affine,
	dense:      avx2Dense,
	scores:     avx2Scores,
	values:     avx2Values,
	expSum:     avx2ExpSumOf,
	half:       avx2HalfOf,
	meanSquare: avx2MeanSquare,
	scaleNorm:  avx2ScaleNormOf,
	geglu:      avx2GEGLUOf,
	softcap:    avx2SoftcapOf,
	combine:    avx2CombineOf,
	maximum:    avx2Maximum,
}

// padded8 copies the last len(x)%8 elements to buf, whose other lanes keep fill.
func padded8(buf *[8]float32, x []float32, fill float32) []float32 {
	for i := range buf {
		buf[i] = fill
	}
	rest := x[len(x)&^7:]
	copy(buf[:], rest)
	return rest
}

func avx2ExpSumOf(p []float32, shift float32) float32 {
	var sum float32
	if n := len(p) / 8; n > 0 {
		sum = avx2ExpSum(&p[0], n, shift)
	}
	if len(p)%8 != 0 {
		var buf [8]float32
		rest := padded8(&buf, p, -math.MaxFloat32)
		sum += avx2ExpSum(&buf[0], 1, shift)
		copy(rest, buf[:])
	}
	return sum
}

func avx2HalfOf(dst []byte, x []float32) {
	if n := len(x) / 8; n > 0 {
		avx2Half(&dst[0], &x[0], n)
	}
	if len(x)%8 != 0 {
		var buf [8]float32
		var out [16]byte
		padded8(&buf, x, 0)
		avx2Half(&out[0], &buf[0], 1)
		copy(dst[2*(len(x)&^7):2*len(x)], out[:])
	}
}

func avx2MeanSquare(x []float32) float32 {
	var sum float32
	if n := len(x) / 8; n > 0 {
		sum = avx2SumSquares(&x[0], n)
	}
	if len(x)%8 != 0 {
		var buf [8]float32
		padded8(&buf, x, 0)
		sum += avx2SumSquares(&buf[0], 1)
	}
	return sum / float32(len(x))
}

func avx2ScaleNormOf(dst, x []float32, scale float32, w core.Vector) {
	if n := len(x) / 8; n > 0 {
		if w == nil {
			avx2Scale(&dst[0], &x[0], scale, n)
		} else {
			avx2ScaleNorm(&dst[0], &x[0], scale, &w[0], n)
		}
	}
	if done := len(x) &^ 7; done < len(x) {
		if w != nil {
			w = w[2*done:]
		}
		plainScaleNorm(dst[done:], x[done:], scale, w) // elementwise: the same bits
	}
}

func avx2GEGLUOf(gate, up []float32) {
	if n := len(gate) / 8; n > 0 {
		avx2GEGLU(&gate[0], &up[0], n)
	}
	if len(gate)%8 != 0 {
		var g, u [8]float32
		rest := padded8(&g, gate, 0)
		padded8(&u, up[:len(gate)], 0)
		avx2GEGLU(&g[0], &u[0], 1)
		copy(rest, g[:])
	}
}

func avx2SoftcapOf(x []float32, limit float32) {
	if n := len(x) / 8; n > 0 {
		avx2Softcap(&x[0], n, limit, -2/limit)
	}
	if len(x)%8 != 0 {
		var buf [8]float32
		rest := padded8(&buf, x, 0)
		avx2Softcap(&buf[0], 1, limit, -2/limit)
		copy(rest, buf[:])
	}
}

func avx2CombineOf(dst []float32, a, b float32, x []float32) {
	if n := len(x) / 8; n > 0 {
		avx2Combine(&dst[0], a, b, &x[0], n)
	}
	if len(x)%8 != 0 {
		var d, v [8]float32
		rest := padded8(&d, dst[:len(x)], 0)
		padded8(&v, x, 0)
		avx2Combine(&d[0], a, b, &v[0], 1)
		copy(rest, d[:])
	}
}

func avx2Maximum(x []float32) float32 {
	if len(x) < 8 {
		return plainMaximum(x)
	}
	m := avx2Max(&x[0], len(x)/8)
	return max(m, avx2Max(&x[len(x)-8], 1))
}
