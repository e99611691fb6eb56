package jpeg

// upsample gives component i of row y at the full width. The slice is valid until the next call for i.
//
// Components of half the width or height are interpolated with the weights 3/4 and 1/4 of the two nearest samples
// ("fancy upsampling"), with libjpeg-turbo's alternating rounding; other ratios repeat samples, as do pictures of at
// most two samples across.
func (r *Reader) upsample(i, y int) []byte {
	p := &r.planes[i]
	f := &r.header.frame
	wider, taller := f.maxH/p.component.h, f.maxV/p.component.v
	near, far := p.rowsFor(y, f.maxV)
	dst := r.lines[i]
	src := p.row(near)
	smooth := len(src) > 2
	switch {
	case wider == 1 && taller == 2:
		upsampleTall(dst, src, p.row(far), y%2)
		return dst
	case wider == 1:
		return src
	case wider == 2 && taller == 1 && smooth:
		upsampleWide(dst, src)
	case wider == 2 && taller == 2 && smooth:
		upsampleBoth(dst, src, p.row(far), r.sums[:len(src)])
	default:
		repeat(dst, src, wider)
	}
	return dst
}

// upsampleTall interpolates down: half is 0 for the upper of the two rows that near makes, 1 for the lower.
func upsampleTall(dst, near, far []byte, half int) {
	round := 1 + half
	far = far[:len(near)]
	for x, v := range near {
		dst[x] = byte((3*int(v) + int(far[x]) + round) >> 2)
	}
}

// upsampleWide interpolates across.
func upsampleWide(dst, src []byte) {
	last := len(src) - 1
	dst[0] = src[0]
	dst[1] = byte((3*int(src[0]) + int(src[1]) + 2) >> 2)
	for x := 1; x < last; x++ {
		v := 3 * int(src[x])
		dst[2*x] = byte((v + int(src[x-1]) + 1) >> 2)
		dst[2*x+1] = byte((v + int(src[x+1]) + 2) >> 2)
	}
	dst[2*last] = byte((3*int(src[last]) + int(src[last-1]) + 1) >> 2)
	dst[2*last+1] = src[last]
}

// upsampleBoth interpolates down, then across, and rounds once.
func upsampleBoth(dst, near, far []byte, sums []int32) {
	far = far[:len(near)]
	for x, v := range near {
		sums[x] = 3*int32(v) + int32(far[x])
	}
	last := len(sums) - 1
	dst[0] = byte((4*sums[0] + 8) >> 4)
	dst[1] = byte((3*sums[0] + sums[1] + 7) >> 4)
	for x := 1; x < last; x++ {
		v := 3 * sums[x]
		dst[2*x] = byte((v + sums[x-1] + 8) >> 4)
		dst[2*x+1] = byte((v + sums[x+1] + 7) >> 4)
	}
	dst[2*last] = byte((3*sums[last] + sums[last-1] + 8) >> 4)
	dst[2*last+1] = byte((4*sums[last] + 7) >> 4)
}

func repeat(dst, src []byte, times int) {
	for x, v := range src {
		for k := range times {
			dst[x*times+k] = v
		}
	}
}
