package harness

import (
	"math"

	"github.com/fieldfare/fieldfare/metal/driver"
)

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
