package png

func (h *Header) bitsPerPixel() int {
	switch h.colour {
	case greyAlpha:
		return 2 * h.Bits
	case rgb:
		return 3 * h.Bits
	case rgba:
		return 4 * h.Bits
	}
	return h.Bits
}

// unpacker returns the function that turns an unfiltered row into R G B and, unless it is nil, alpha.
func (h *Header) unpacker() func(row, rgb, alpha []byte) {
	switch h.colour {
	case grey:
		return h.unpackGrey
	case rgb:
		return h.unpackRGB
	case palette:
		return h.unpackPalette
	case greyAlpha:
		return h.unpackGreyAlpha
	}
	return h.unpackRGBA
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// unpackGrey spreads samples of fewer than 8 bits over the whole range.
func (h *Header) unpackGrey(row, rgb, alpha []byte) {
	fill(alpha, 255)
	key := -1
	if len(h.key) == 2 {
		key = int(h.key[0])<<8 | int(h.key[1])
	}
	scale := 1 // 16 bits have no use for it
	if h.Bits <= 8 {
		scale = 255 / (1<<h.Bits - 1)
	}
	for x := range len(rgb) / 3 {
		var sample int
		var v byte
		if h.Bits == 16 {
			sample, v = int(row[2*x])<<8|int(row[2*x+1]), row[2*x]
		} else {
			sample = packed(row, x, h.Bits)
			v = byte(sample * scale)
		}
		px := rgb[3*x:][:3:3]
		px[0], px[1], px[2] = v, v, v
		if alpha != nil && sample == key {
			alpha[x] = 0
		}
	}
}

// packed is sample x of a row of 1, 2, 4 or 8 bits a sample, leftmost in the highest bits.
func packed(row []byte, x, bits int) int {
	at := x * bits
	return int(row[at/8]) >> (8 - bits - at%8) & (1<<bits - 1)
}

func (h *Header) unpackRGB(row, rgb, alpha []byte) {
	fill(alpha, 255)
	step := h.Bits / 8
	if step == 1 {
		copy(rgb, row)
	} else {
		for i := range rgb {
			rgb[i] = row[2*i]
		}
	}
	if alpha == nil || len(h.key) != 6 {
		return
	}
	for x := range alpha {
		same := true
		for c := range 3 {
			at := (3*x + c) * step
			same = same && row[at+step-1] == h.key[2*c+1] && (step == 2 && row[at] == h.key[2*c] || step == 1 && h.key[2*c] == 0)
		}
		if same {
			alpha[x] = 0
		}
	}
}

func (h *Header) unpackPalette(row, rgb, alpha []byte) {
	for x := range len(rgb) / 3 {
		c := &h.colours[packed(row, x, h.Bits)]
		copy(rgb[3*x:][:3], c[:3])
		if alpha != nil {
			alpha[x] = c[3]
		}
	}
}

func (h *Header) unpackGreyAlpha(row, rgb, alpha []byte) {
	step := h.Bits / 8
	for x := range len(rgb) / 3 {
		from := row[2*step*x:][:2*step]
		px := rgb[3*x:][:3:3]
		px[0], px[1], px[2] = from[0], from[0], from[0]
		if alpha != nil {
			alpha[x] = from[step]
		}
	}
}

func (h *Header) unpackRGBA(row, rgb, alpha []byte) {
	step := h.Bits / 8
	for x := range len(rgb) / 3 {
		from := row[4*step*x:][:4*step]
		px := rgb[3*x:][:3:3]
		px[0], px[1], px[2] = from[0], from[step], from[2*step]
		if alpha != nil {
			alpha[x] = from[3*step]
		}
	}
}
