package harness

import (
	"math"

	"github.com/fieldfare/fieldfare/metal/driver"
)

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
