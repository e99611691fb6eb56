package harness

import (
	"fmt"

	"github.com/fieldfare/fieldfare/metal/driver"
)

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
	ex, we := download[uint16](j, eb, tokens*top), download[float32](j, wb, tokens*top)
	load := download[uint32](j, cb, experts)
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
