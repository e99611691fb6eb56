package harness

import "github.com/fieldfare/fieldfare/metal/driver"

// affine 4-bit matrix-vector product.
func gemv(r *Run) (res Result, err error) {
	rows, cols := r.pick(20, 1000, 65536), r.pick(192, 2816, 4096)
	j := r.start("gemv_int4")
	defer j.done()
	rng := j.rng
	words := make([]uint32, rows*cols/8)
	block := make([]uint32, min(len(words), 1<<20))
	for i := range block {
		block[i] = rng.Uint32()
	}
	fastFill(words, block)
	scales := fastFill(make([]bfloat, rows*cols/64), bfloats(rng, min(rows*cols/64, 1<<18), 0, 0.01))
	biases := fastFill(make([]bfloat, rows*cols/64), bfloats(rng, min(rows*cols/64, 1<<18), -0.05, 0.05))
	x := halves(rng, cols, 1)
	// The weights start 2 bytes into their buffer: only 2-byte aligned, as in a mapped file.
	wb := j.buffer(len(words)*4 + 2)
	if j.err == nil {
		copy(wb.Bytes()[2:], raw(words))
	}
	sb, bb, xb, yb := j.upload(raw(scales)), j.upload(raw(biases)), j.upload(raw(x)), j.buffer(rows*4)
	p := [2]uint32{uint32(rows), uint32(cols)}
	const simds = 4
	threads := driver.D1(simds * 32)
	j.dispatch(&res, "gemv_int4_g64", driver.Groups(driver.D1((rows+simds*4-1)/(simds*4)), threads), threads,
		buf(0, wb, 2), buf(1, sb), buf(2, bb), buf(3, xb), buf(4, yb), value(5, p))
	y := download[float32](j, yb, rows)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	step := max(1, rows/1000)
	for row := 0; row < rows; row += step {
		want := 0.0
		for c := 0; c < cols; c++ {
			q := words[(row*cols+c)/8] >> (4 * (c % 8)) & 15
			g := (row*cols + c) / 64
			want += (scales[g].float()*float64(q) + biases[g].float()) * x[c].float()
		}
		w.add(float64(y[row]), want)
	}
	res.Error, res.Limit, res.Checked = w.relative(), 2e-6, w.n
	res.Bytes = float64(rows) * float64(cols) * (0.5 + 4.0/64)
	res.Flops = 2 * float64(rows) * float64(cols)
	return res, nil
}

// GEMM in 8x8 simdgroup matrices, half and bfloat.
func gemm(r *Run) (res Result, err error) {
	m, n, k := r.pick(64, 128, 4096), r.pick(64, 192, 4096), r.pick(64, 256, 4096)
	j := r.start("gemm_simdgroup")
	defer j.done()
	ah := fastFill(make([]half, m*k), halves(j.rng, min(m*k, 1<<20), 1))
	bh := fastFill(make([]half, k*n), halves(j.rng, min(k*n, 1<<20), 1))
	ab := fastFill(make([]bfloat, m*k), bfloats(j.rng, min(m*k, 1<<20), 0, 1))
	bb := fastFill(make([]bfloat, k*n), bfloats(j.rng, min(k*n, 1<<20), 0, 1))
	threads := driver.D1(128)
	p := [3]uint32{uint32(m), uint32(n), uint32(k)}
	var w worst
	for _, kind := range []string{"gemm_bfloat", "gemm_half"} {
		pa, pb := raw(ah), raw(bh)
		fa, fb := func(i int) float64 { return ah[i].float() }, func(i int) float64 { return bh[i].float() }
		if kind == "gemm_bfloat" {
			pa, pb = raw(ab), raw(bb)
			fa, fb = func(i int) float64 { return ab[i].float() }, func(i int) float64 { return bb[i].float() }
		}
		a, b, c := j.upload(pa), j.upload(pb), j.buffer(m*n*4)
		j.dispatch(&res, kind, driver.Groups(driver.D2(n/64, m/64), threads), threads, buf(0, a), buf(1, b), buf(2, c),
			value(3, p), threadgroup(0, 64*32*2), threadgroup(1, 32*64*2))
		y := download[float32](j, c, m*n)
		if j.err != nil {
			return res, j.err
		}
		for range 2000 {
			row, col := j.rng.IntN(m), j.rng.IntN(n)
			want := 0.0
			for i := range k {
				want += fa(row*k+i) * fb(i*n+col)
			}
			w.add(float64(y[row*n+col]), want)
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 3e-5, w.n
	res.Flops = 2 * float64(m) * float64(n) * float64(k)
	return res, nil
}
