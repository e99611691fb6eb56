package resize

import "math"

// axis holds the integer weights that take one axis from in to out samples. Stored samples may run against the seen
// direction; then taps are given in stored order, and the outputs that need the earliest samples have the highest
// indices.
type axis struct {
	in, out int
	flip    bool
	same    bool  // in == out: the filter is skipped, as in the reference
	reach   int   // most taps of one output
	shift   uint  // precision of the weights, bits
	half    int32 // what rounds a sum before the shift
	lows    []int // first stored sample of each output
	counts  []int
	weights []int32 // [out, reach]
}

// order is the k-th output by the stored samples it needs.
func (a *axis) order(k int) int {
	if a.flip {
		return a.out - 1 - k
	}
	return k
}

// taps gives the first stored sample and the weights of output i.
func (a *axis) taps(i int) (lo int, weights []int32) {
	return a.lows[i], a.weights[i*a.reach:][:a.counts[i]]
}

// filterRow applies the axis along a row of RGB pixels: src [in*3] to dst [out*3].
func (a *axis) filterRow(dst, src []byte) {
	for i := range a.out {
		lo, weights := a.taps(i)
		to := dst[i*3:][:3:3]
		if a.same {
			copy(to, src[lo*3:][:3])
			continue
		}
		r, g, b := a.half, a.half, a.half
		from := src[lo*3:][:len(weights)*3]
		for _, w := range weights {
			px := from[:3:3]
			r += w * int32(px[0])
			g += w * int32(px[1])
			b += w * int32(px[2])
			from = from[3:]
		}
		to[0], to[1], to[2] = clamp(r>>a.shift), clamp(g>>a.shift), clamp(b>>a.shift)
	}
}

func newAxis(in, out int, flip bool, f Filter) *axis {
	a := &axis{in: in, out: out, flip: flip, lows: make([]int, out), counts: make([]int, out)}
	if in == out {
		a.identity()
	} else {
		a.fill(f)
	}
	if flip {
		a.reverse()
	}
	return a
}

func (a *axis) identity() {
	a.same, a.reach = true, 1
	a.weights = make([]int32, a.out)
	for i := range a.out {
		a.lows[i], a.counts[i], a.weights[i] = i, 1, 1
	}
}

// fill computes the weights in float64, in the order in which the references do, and rounds them.
func (a *axis) fill(f Filter) {
	scale := float64(a.in) / float64(a.out)
	stretch := max(scale, 1) // reducing widens the kernel
	support := 2 * stretch
	most := 2*int(math.Ceil(support)) + 1
	exact := make([][]float64, a.out)
	var largest float64
	for i := range a.out {
		// The conversion keeps the product from being fused into the sums below on machines that can.
		centre := float64(scale * (float64(i) + 0.5))
		lo := max(int(centre-support+0.5), 0)
		hi := min(int(centre+support+0.5), a.in)
		n := min(max(hi-lo, 0), most)
		a.lows[i], a.counts[i] = lo, n
		exact[i] = normalized(lo, n, centre, 1/stretch)
		a.reach = max(a.reach, n)
		for _, w := range exact[i] {
			largest = max(largest, w)
		}
	}
	a.shift = precision(f, largest)
	a.half = 1 << (a.shift - 1)
	a.weights = make([]int32, a.out*a.reach)
	for i, ws := range exact {
		for j, w := range ws {
			a.weights[i*a.reach+j] = int32(math.Round(w * float64(int(1)<<a.shift)))
		}
	}
}

func normalized(lo, n int, centre, shrink float64) []float64 {
	ws := make([]float64, n)
	var total float64
	for j := range ws {
		ws[j] = keys((float64(j+lo) - centre + 0.5) * shrink)
		total += ws[j]
	}
	if total != 0 {
		for j := range ws {
			ws[j] /= total
		}
	}
	return ws
}

// keys is the cubic convolution kernel of Keys (1981) with a = -0.5. Products are converted before they are added,
// so that no machine fuses them: a weight that differs in its last bit can round to another integer.
func keys(x float64) float64 {
	const a = -0.5
	x = math.Abs(x)
	switch {
	case x < 1:
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return float64((float64((float64(a*x)-5*a)*x)+8*a)*x) - 4*a
	}
	return 0
}

// precision is the number of fraction bits of the integer weights: fixed for Pillow; for torchvision the most that
// keep the largest weight of the axis within 15 bits.
func precision(f Filter, largest float64) uint {
	if f == Pillow {
		return 22
	}
	p := uint(0)
	for p < 22 && int(0.5+largest*float64(int(1)<<(p+1))) < 1<<15 {
		p++
	}
	return p
}

// reverse turns taps on seen samples into taps on samples stored the other way round.
func (a *axis) reverse() {
	for i := range a.out {
		lo, ws := a.taps(i)
		a.lows[i] = a.in - lo - len(ws)
		for l, r := 0, len(ws)-1; l < r; l, r = l+1, r-1 {
			ws[l], ws[r] = ws[r], ws[l]
		}
	}
}
