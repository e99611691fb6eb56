package harness

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// features checks one result per language feature against values worked out here.
func features(r *Run) (res Result, err error) {
	j := r.start("features", driver.Bool(1, true), driver.Uint(2, 5))
	defer j.done()
	const results = 38
	out := j.buffer((results*32 + 1) * 4)
	packed := j.upload(raw([]float32{1, 2, 3, 4, 5, 6, 7, 8}))
	counter, total := j.buffer(4), j.buffer(4)
	one := driver.D1(32)
	j.dispatch(nil, "features", one, one, buf(0, out), buf(1, packed), buf(2, counter), buf(3, total),
		value(4, [4]float32{1, 2, 30, 0}), threadgroup(0, 128))
	y := download[float32](j, out, results*32+1)
	c, t := download[uint32](j, counter, 1), download[float32](j, total, 1)
	if j.err != nil {
		return res, j.err
	}
	if y[results*32] != results || c[0] != 31 || t[0] != 16 {
		return res, fmt.Errorf("features: %v results, counter %d, total %v", y[results*32], c[0], t[0])
	}
	b2f := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	h := func(v float64) float64 { return toHalf(float32(v)).float() }
	bf := func(v float32) float64 { return toBfloat(v).float() }
	for lane := range 32 {
		f, l := float64(lane), lane
		downs, ups := min(l+3, 31), l-2
		if l+3 > 31 {
			downs = l
		}
		if l < 2 {
			ups = l
		}
		downs1 := min(l+1, 31)
		inclusive := float64(l * (l + 1) / 2)
		q := l &^ 3
		want := []float64{
			0:  1 + 10*f,
			1:  4 + 10*3 + 100*f + 1000*1,
			2:  5*(6+f) + 1,
			3:  6,
			4:  10,
			5:  1 - 10 + 100*f,
			6:  1 + b2f(l > 3) + 0 + 1,
			7:  min(max(f, 2), 5) + 2.5 + max(f, 3),
			8:  2048,
			9:  h(h(0.1) + h(0.2)),
			10: f * 0.5,
			11: toBfloat(float32(1 + f/256)).float(),
			12: float64(toHalf(1.7)),
			13: h(half(0x3C57).float() + half(0x4012).float()),
			14: []float64{1, 2.5, -3, 4}[l%4] + []float64{2, 4}[l&1] + 7,
			15: 1 + 50,
			16: 7 + 8 + 30,
			17: 6 + 1.5 + 2,
			18: 496 + 31,
			19: inclusive + 1000*f,
			20: 31 - f + 100*float64(l^5),
			21: float64(downs) + 100*float64(ups),
			22: 9 + 1,
			23: 1 + 4,
			24: 11,
			25: float64(4*q+6) + 1000*float64(l^1),
			26: 32 + 15,
			27: 1 + 2*float64((l+1)%32) + 31 - f + float64(l/4),
			28: 496,
			29: float64(bits.LeadingZeros32(uint32(l))) + 300 + 3,
			30: 0xBC + float64(math.MinInt32)/1e9,
			31: 1 + 1 + 0.5 - 1 + 0.25,
			32: h(h(h(float64(l^1))/3) + h(0.3)), // h(3) is 3
			33: h(float64(downs1) * h(0.3)),
			34: float64(toHalf(0.1)) + float64(toHalf(0.2)),
			35: h(h(h(half(0x4012).float()+half(0x3C57).float())+half(0x3ABC).float()) + half(0x3567).float()),
			36: h(float64((7-l/4)*4) / 3),
			37: bf(float32(l^16)*0.011) + bf(float32(l)*0.37),
		}
		for k, w := range want {
			res.Checked++
			if got := float64(y[k*32+lane]); math.Abs(got-w) > 1e-5*max(1, math.Abs(w)) {
				return res, fmt.Errorf("features: result %d of lane %d is %v, want %v", k, lane, got, w)
			}
		}
	}
	res.Limit = 1e-6
	return res, nil
}
