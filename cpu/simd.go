//go:build (amd64 || arm64) && !noasm

package cpu

import (
	"math"

	"github.com/fieldfare/fieldfare/core"
)

// padded8 copies the last len(x)%8 elements to buf, whose other lanes keep fill.
func padded8(buf *[8]float32, x []float32, fill float32) []float32 {
	for i := range buf {
		buf[i] = fill
	}
	rest := x[len(x)&^7:]
	copy(buf[:], rest)
	return rest
}

func simdExpSumOf(p []float32, shift float32) float32 {
	var sum float32
	if n := len(p) / 8; n > 0 {
		sum = simdExpSum(&p[0], n, shift)
	}
	if len(p)%8 != 0 {
		var buf [8]float32
		rest := padded8(&buf, p, -math.MaxFloat32)
		sum += simdExpSum(&buf[0], 1, shift)
		copy(rest, buf[:])
	}
	return sum
}

func simdHalfOf(dst []byte, x []float32) {
	if n := len(x) / 8; n > 0 {
		simdHalf(&dst[0], &x[0], n)
	}
	if len(x)%8 != 0 {
		var buf [8]float32
		var out [16]byte
		padded8(&buf, x, 0)
		simdHalf(&out[0], &buf[0], 1)
		copy(dst[2*(len(x)&^7):2*len(x)], out[:])
	}
}

func simdMeanSquare(x []float32) float32 {
	var sum float32
	if n := len(x) / 8; n > 0 {
		sum = simdSumSquares(&x[0], n)
	}
	if len(x)%8 != 0 {
		var buf [8]float32
		padded8(&buf, x, 0)
		sum += simdSumSquares(&buf[0], 1)
	}
	return sum / float32(len(x))
}

func simdScaleNormOf(dst, x []float32, scale float32, w core.Vector) {
	if n := len(x) / 8; n > 0 {
		if w == nil {
			simdScale(&dst[0], &x[0], scale, n)
		} else {
			simdScaleNorm(&dst[0], &x[0], scale, &w[0], n)
		}
	}
	if done := len(x) &^ 7; done < len(x) {
		if w != nil {
			w = w[2*done:]
		}
		plainScaleNorm(dst[done:], x[done:], scale, w) // elementwise: the same bits
	}
}

func simdGEGLUOf(gate, up []float32) {
	if n := len(gate) / 8; n > 0 {
		simdGEGLU(&gate[0], &up[0], n)
	}
	if len(gate)%8 != 0 {
		var g, u [8]float32
		rest := padded8(&g, gate, 0)
		padded8(&u, up[:len(gate)], 0)
		simdGEGLU(&g[0], &u[0], 1)
		copy(rest, g[:])
	}
}

func simdSoftcapOf(x []float32, limit float32) {
	if n := len(x) / 8; n > 0 {
		simdSoftcap(&x[0], n, limit, -2/limit)
	}
	if len(x)%8 != 0 {
		var buf [8]float32
		rest := padded8(&buf, x, 0)
		simdSoftcap(&buf[0], 1, limit, -2/limit)
		copy(rest, buf[:])
	}
}

func simdCombineOf(dst []float32, a, b float32, x []float32) {
	if n := len(x) / 8; n > 0 {
		simdCombine(&dst[0], a, b, &x[0], n)
	}
	if len(x)%8 != 0 {
		var d, v [8]float32
		rest := padded8(&d, dst[:len(x)], 0)
		padded8(&v, x, 0)
		simdCombine(&d[0], a, b, &v[0], 1)
		copy(rest, d[:])
	}
}

func simdMaximum(x []float32) float32 {
	if len(x) < 8 {
		return plainMaximum(x)
	}
	m := simdMax(&x[0], len(x)/8)
	return max(m, simdMax(&x[len(x)-8], 1))
}
