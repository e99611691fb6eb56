package jpeg

// The inverse DCT of Loeffler, Ligtenberg and Moschytz (ICASSP 1989) in 13-bit fixed point, with the intermediate
// rounding of libjpeg's slow integer method: columns first, kept with two extra bits, then rows. Every decoder that
// claims libjpeg's pixels must round at exactly these places.
const (
	fixBits   = 13
	extraBits = 2

	fix0_298631336 = 2446
	fix0_390180644 = 3196
	fix0_541196100 = 4433
	fix0_765366865 = 6270
	fix0_899976223 = 7373
	fix1_175875602 = 9633
	fix1_501321110 = 12299
	fix1_847759065 = 15137
	fix1_961570560 = 16069
	fix2_053119869 = 16819
	fix2_562915447 = 20995
	fix3_072711026 = 25172
)

// inverseDCT dequantizes block, both in natural order, and writes 8 rows of 8 samples to dst.
func inverseDCT(block *[64]int16, quant *[64]int32, dst []byte, stride int) {
	if isFlat(block) {
		flat(int32(block[0])*quant[0], dst, stride)
		return
	}
	var work [64]int32
	for x := range 8 {
		var in [8]int32
		for k := range 8 {
			in[k] = int32(block[8*k+x]) * quant[8*k+x]
		}
		out := butterfly(&in)
		for k := range 8 {
			work[8*k+x] = descale(out[k], fixBits-extraBits)
		}
	}
	for y := range 8 {
		out := butterfly((*[8]int32)(work[8*y:]))
		row := dst[y*stride:][:8:8]
		for k := range 8 {
			row[k] = sample(descale(out[k], fixBits+extraBits+3))
		}
	}
}

func isFlat(block *[64]int16) bool {
	for _, c := range block[1:] {
		if c != 0 {
			return false
		}
	}
	return true
}

// flat is the transform of a block with nothing but a DC coefficient.
func flat(dc int32, dst []byte, stride int) {
	v := sample(descale(dc<<extraBits, extraBits+3))
	for y := range 8 {
		row := dst[y*stride:][:8:8]
		for x := range row {
			row[x] = v
		}
	}
}

func descale(v int32, n uint) int32 { return (v + 1<<(n-1)) >> n }

func sample(v int32) byte { return clamp(v + 128) }

func clamp(v int32) byte { return byte(min(max(v, 0), 255)) }

// butterfly is one 8-point inverse transform, scaled up by fixBits.
func butterfly(in *[8]int32) (out [8]int32) {
	// even part: rotation by pi/8
	z := (in[2] + in[6]) * fix0_541196100
	e2 := z - in[6]*fix1_847759065
	e3 := z + in[2]*fix0_765366865
	e0 := (in[0] + in[4]) << fixBits
	e1 := (in[0] - in[4]) << fixBits
	a0, a3 := e0+e3, e0-e3
	a1, a2 := e1+e2, e1-e2

	// odd part
	o0, o1, o2, o3 := in[7], in[5], in[3], in[1]
	z1, z2, z3, z4 := o0+o3, o1+o2, o0+o2, o1+o3
	z5 := (z3 + z4) * fix1_175875602
	z1 *= -fix0_899976223
	z2 *= -fix2_562915447
	z3 = z5 - z3*fix1_961570560
	z4 = z5 - z4*fix0_390180644
	o0 = o0*fix0_298631336 + z1 + z3
	o1 = o1*fix2_053119869 + z2 + z4
	o2 = o2*fix3_072711026 + z2 + z3
	o3 = o3*fix1_501321110 + z1 + z4

	out[0], out[7] = a0+o3, a0-o3
	out[1], out[6] = a1+o2, a1-o2
	out[2], out[5] = a2+o1, a2-o1
	out[3], out[4] = a3+o0, a3-o0
	return out
}
