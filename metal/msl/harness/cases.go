package harness

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/metal/driver"
)

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

// RMS normalisation over 2816.
func rmsnorm(r *Run) (res Result, err error) {
	rows, width := r.pick(3, 16, 4096), 2816
	j := r.start("rmsnorm")
	defer j.done()
	x := fastFill(make([]half, rows*width), halves(j.rng, min(rows*width, 1<<18), 2))
	weight := bfloats(j.rng, width, 1, 0.2)
	xb, wb, yb := j.upload(raw(x)), j.upload(raw(weight)), j.buffer(rows*width*2)
	threads := driver.D1(256)
	const eps = 1e-6
	j.dispatch(&res, "rmsnorm", driver.Groups(driver.D1(rows), threads), threads,
		buf(0, xb), buf(1, wb), buf(2, yb), value(3, struct {
			n   uint32
			eps float32
		}{uint32(width), eps}))
	y := download[half](j, yb, rows*width)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	for row := 0; row < rows; row += max(1, rows/50) {
		sum := 0.0
		for _, v := range x[row*width:][:width] {
			sum += v.float() * v.float()
		}
		s := 1 / math.Sqrt(sum/float64(width)+eps)
		for i := range width {
			w.add(y[row*width+i].float(), x[row*width+i].float()*s*weight[i].float())
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 5e-4, w.n
	res.Bytes = float64(rows * width * 4)
	return res, nil
}

// NeoX rotary embedding.
func rope(r *Run) (res Result, err error) {
	tokens, heads, dim := r.pick(2, 8, 1024), r.pick(2, 16, 16), 128
	const base = 10000.0
	j := r.start("rope")
	defer j.done()
	x := halves(j.rng, tokens*heads*dim, 1)
	pos := make([]int32, tokens)
	for i := range pos {
		pos[i] = int32(j.rng.IntN(2000))
	}
	xb, pb, yb := j.upload(raw(x)), j.upload(raw(pos)), j.buffer(len(x)*2)
	j.dispatch(&res, "rope_neox", driver.D3(dim/2, heads, tokens), driver.D3(32, 2, 1),
		buf(0, xb), buf(1, pb), buf(2, yb), value(3, struct {
			heads, dim uint32
			log2base   float32
		}{uint32(heads), uint32(dim), float32(math.Log2(base))}))
	y := download[half](j, yb, len(x))
	if j.err != nil {
		return res, j.err
	}
	var w worst
	for t := range tokens {
		for h := range heads {
			for i := range dim / 2 {
				a := float64(pos[t]) * math.Pow(base, -float64(i)/float64(dim/2))
				o := (t*heads+h)*dim + i
				u, v := x[o].float(), x[o+dim/2].float()
				w.add(y[o].float(), u*math.Cos(a)-v*math.Sin(a))
				w.add(y[o+dim/2].float(), v*math.Cos(a)+u*math.Sin(a))
			}
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 1e-3, w.n
	res.Bytes = float64(len(x) * 4)
	return res, nil
}

// split-KV decode attention and merge, without and with the soft cap constant.
func decode(r *Run) (res Result, err error) {
	for _, cap := range []float64{0, 20} {
		if res, err = decodeOnce(r, cap); err != nil || res.Error > res.Limit {
			return res, err
		}
	}
	return res, nil
}

func decodeOnce(r *Run, softcap float64) (res Result, err error) {
	kv, heads, kvHeads, split := r.pick(70, 1000, 32768), r.pick(2, 8, 32), r.pick(1, 2, 8), r.pick(32, 128, 256)
	const dim = 128
	var constants []driver.Constant
	if softcap > 0 {
		constants = append(constants, driver.Float(0, float32(softcap)))
	}
	j := r.start("decode_attention", constants...)
	defer j.done()
	q := halves(j.rng, heads*dim, 2)
	k := fastFill(make([]half, kv*kvHeads*dim), halves(j.rng, min(kv*kvHeads*dim, 1<<20), 1))
	v := fastFill(make([]half, kv*kvHeads*dim), halves(j.rng, min(kv*kvHeads*dim, 1<<20), 1))
	splits := (kv + split - 1) / split
	scale := float32(1 / math.Sqrt(dim))
	qb, kb, vb := j.upload(raw(q)), j.upload(raw(k)), j.upload(raw(v))
	stats, part, out := j.buffer(heads*splits*8), j.buffer(heads*splits*dim*4), j.buffer(heads*dim*2)
	threads := driver.D1(128)
	j.dispatch(&res, "decode_partial", driver.Groups(driver.D2(splits, heads), threads), threads,
		buf(0, qb), buf(1, kb), buf(2, vb), buf(3, stats), buf(4, part),
		value(5, struct {
			kv, kvHeads, per, split uint32
			scale                   float32
		}{uint32(kv), uint32(kvHeads), uint32(heads / kvHeads), uint32(split), scale}))
	j.dispatch(nil, "decode_merge", driver.Groups(driver.D1(heads), threads), threads,
		buf(0, stats), buf(1, part), buf(2, out), value(3, uint32(splits)))
	y := download[half](j, out, heads*dim)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	for h := range heads {
		kh := h / (heads / kvHeads)
		score := make([]float64, kv)
		for i := range score {
			s := 0.0
			for d := range dim {
				s += q[h*dim+d].float() * k[(i*kvHeads+kh)*dim+d].float()
			}
			s *= float64(scale)
			if softcap > 0 {
				s = softcap * math.Tanh(s/softcap)
			}
			score[i] = s
		}
		softmax(score)
		for d := range dim {
			want := 0.0
			for i, p := range score {
				want += p * v[(i*kvHeads+kh)*dim+d].float()
			}
			w.add(y[h*dim+d].float(), want)
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 1e-3, w.n
	res.Bytes = float64(kv*kvHeads*dim*2) * 2
	return res, nil
}

func softmax(s []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range s {
		top = max(top, v)
	}
	for i, v := range s {
		s[i] = math.Exp(v - top)
		sum += s[i]
	}
	for i := range s {
		s[i] /= sum
	}
}

// vision attention, head width 72.
func vision(r *Run) (res Result, err error) {
	tokens, heads := r.pick(50, 2520, 2520), r.pick(2, 1, 16)
	const dim = 72
	j := r.start("vision_attention")
	defer j.done()
	q, k, v := halves(j.rng, tokens*heads*dim, 2), halves(j.rng, tokens*heads*dim, 1), halves(j.rng, tokens*heads*dim, 1)
	qb, kb, vb, ob := j.upload(raw(q)), j.upload(raw(k)), j.upload(raw(v)), j.buffer(len(q)*2)
	scale := float32(1 / math.Sqrt(dim))
	threads := driver.D1(128)
	j.dispatch(&res, "vision_attention", driver.Groups(driver.D2((tokens+31)/32, heads), threads), threads,
		buf(0, qb), buf(1, kb), buf(2, vb), buf(3, ob), value(4, struct {
			tokens, heads uint32
			scale         float32
		}{uint32(tokens), uint32(heads), scale}))
	y := download[half](j, ob, len(q))
	if j.err != nil {
		return res, j.err
	}
	kf, vf := make([]float64, len(k)), make([]float64, len(v))
	for i := range k {
		kf[i], vf[i] = k[i].float(), v[i].float()
	}
	var w worst
	for h := range heads {
		for t := 0; t < tokens; t += max(1, tokens/100) {
			score := make([]float64, tokens)
			for i := range score {
				for d := range dim {
					score[i] += q[(t*heads+h)*dim+d].float() * kf[(i*heads+h)*dim+d]
				}
				score[i] *= float64(scale)
			}
			softmax(score)
			for d := range dim {
				want := 0.0
				for i, p := range score {
					want += p * vf[(i*heads+h)*dim+d]
				}
				w.add(y[(t*heads+h)*dim+d].float(), want)
			}
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 3e-3, w.n
	res.Flops = 4 * float64(tokens) * float64(tokens) * dim * float64(heads)
	return res, nil
}

// router, top 8 of 128.
func router(r *Run) (res Result, err error) {
	tokens := r.pick(7, 257, 16384)
	const experts, top = 128, 8
	j := r.start("router")
	defer j.done()
	logits := floats(j.rng, tokens*experts, 2)
	for i := 0; i+40 < len(logits); i += 97 { // ties
		logits[i+40] = logits[i]
	}
	lb, eb, wb, cb := j.upload(raw(logits)), j.buffer(tokens*top*2), j.buffer(tokens*top*4), j.buffer(experts*4)
	threads := driver.D1(128)
	j.dispatch(nil, "router_top8", driver.Groups(driver.D1((tokens+3)/4), threads), threads,
		buf(0, lb), buf(1, eb), buf(2, wb), buf(3, cb), value(4, uint32(tokens)))
	ex, we, load := download[uint16](j, eb, tokens*top), download[float32](j, wb, tokens*top), download[uint32](j, cb, experts)
	if j.err != nil {
		return res, j.err
	}
	var w worst
	want := make([]uint32, experts)
	for t := range tokens {
		row := logits[t*experts:][:experts]
		used := make([]bool, experts)
		var best []float64
		for i := range top {
			b := -1
			for e, v := range row {
				if !used[e] && (b < 0 || v > row[b]) {
					b = e
				}
			}
			used[b] = true
			want[b]++
			best = append(best, float64(row[b]))
			if int(ex[t*top+i]) != b {
				return res, fmt.Errorf("token %d: expert %d is %d, want %d", t, i, ex[t*top+i], b)
			}
		}
		softmax(best)
		for i := range top {
			w.add(float64(we[t*top+i]), best[i])
		}
	}
	for e := range want {
		if load[e] != want[e] {
			return res, fmt.Errorf("expert %d: load %d, want %d", e, load[e], want[e])
		}
	}
	res.Error, res.Limit, res.Checked = w.relative(), 1e-6, w.n
	return res, nil
}

// GEMM in 8x8 simdgroup matrices, half and bfloat.
func gemm(r *Run) (res Result, err error) {
	m, n, k := r.pick(64, 128, 4096), r.pick(64, 192, 4096), r.pick(64, 256, 4096)
	j := r.start("gemm_simdgroup")
	defer j.done()
	ah, bh := fastFill(make([]half, m*k), halves(j.rng, min(m*k, 1<<20), 1)), fastFill(make([]half, k*n), halves(j.rng, min(k*n, 1<<20), 1))
	ab, bb := fastFill(make([]bfloat, m*k), bfloats(j.rng, min(m*k, 1<<20), 0, 1)), fastFill(make([]bfloat, k*n), bfloats(j.rng, min(k*n, 1<<20), 0, 1))
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
