package harness

import (
	"fmt"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// matrix checks every operation on simdgroup matrices exactly.
func matrix(r *Run) (res Result, err error) {
	j := r.start("matrix")
	defer j.done()
	type mat [8][8]float64
	var a, b, c mat
	ha, hb, fc := make([]half, 64), make([]half, 64), make([]float32, 64)
	for i := range 64 {
		a[i/8][i%8], b[i/8][i%8], c[i/8][i%8] = float64(j.rng.IntN(9)-4), float64(j.rng.IntN(9)-4), float64(j.rng.IntN(9)-4)
		ha[i], hb[i], fc[i] = toHalf(float32(a[i/8][i%8])), toHalf(float32(b[i/8][i%8])), float32(c[i/8][i%8])
	}
	out, outHalf := j.buffer(8*64*4), j.buffer((64+72)*2)
	one := driver.D1(32)
	j.dispatch(nil, "matrix_ops", one, one,
		buf(0, j.upload(raw(ha))), buf(1, j.upload(raw(hb))), buf(2, j.upload(raw(fc))),
		buf(3, out), buf(4, outHalf))
	y, h := download[float32](j, out, 8*64), download[half](j, outHalf, 64+72)
	if j.err != nil {
		return res, j.err
	}
	transpose := func(m mat) (t mat) {
		for i := range 8 {
			for k := range 8 {
				t[k][i] = m[i][k]
			}
		}
		return t
	}
	multiply := func(x, y, z mat) mat {
		for i := range 8 {
			for k := range 8 {
				for n := range 8 {
					z[i][k] += x[i][n] * y[n][k]
				}
			}
		}
		return z
	}
	fill := func(v float64) (m mat) {
		for i := range 64 {
			m[i/8][i%8] = v
		}
		return m
	}
	triple := multiply(c, mat{}, c)
	for i := range 64 {
		triple[i/8][i%8] *= 3
	}
	want := []mat{c, transpose(c), transpose(c), multiply(a, b, mat{}), multiply(a, transpose(b), c),
		multiply(c, c, mat{}), triple, multiply(c, fill(2), fill(2))}
	for k, m := range want {
		for i := range 64 {
			res.Checked++
			if got := float64(y[k*64+i]); got != m[i/8][i%8] {
				return res, fmt.Errorf("matrix: result %d [%d][%d] is %v, want %v", k, i/8, i%8, got, m[i/8][i%8])
			}
		}
	}
	for i := range 64 {
		w := want[3][i/8][i%8]
		if h[i].float() != w || h[64+i/8*9+i%8].float() != w {
			return res, fmt.Errorf("matrix: half result [%d][%d] is %v and %v, want %v", i/8, i%8, h[i].float(),
				h[64+i/8*9+i%8].float(), w)
		}
	}
	res.Limit = 1e-6
	return res, nil
}

// lanes checks the layout behind thread_elements: rows of A A scaled by row.
func lanes(r *Run) (res Result, err error) {
	j := r.start("lanes")
	defer j.done()
	a, scale := make([]float32, 64), make([]float32, 8)
	for i := range a {
		a[i] = float32(j.rng.IntN(9) - 4)
	}
	for i := range scale {
		scale[i] = float32(i + 1)
	}
	out := j.buffer(64 * 4)
	one := driver.D1(32)
	j.dispatch(nil, "lanes_scale_rows", one, one, buf(0, j.upload(raw(a))), buf(1, j.upload(raw(scale))), buf(2, out))
	y := download[float32](j, out, 64)
	if j.err != nil {
		return res, j.err
	}
	for i := range 64 {
		want := float32(0)
		for k := range 8 {
			want += a[i/8*8+k] * a[k*8+i%8]
		}
		res.Checked++
		if want *= scale[i/8]; y[i] != want {
			return res, fmt.Errorf("lanes: [%d][%d] is %v, want %v", i/8, i%8, y[i], want)
		}
	}
	res.Limit = 1e-6
	return res, nil
}
