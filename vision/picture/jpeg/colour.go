package jpeg

// converter turns one row of components into R G B.
type converter func(dst []byte, lines [4][]byte)

// converter chooses by the same signs as libjpeg: the JFIF and Adobe segments, then the component ids.
func (h *Header) converter() converter {
	switch h.Components {
	case 1:
		return greyRow
	case 4:
		if h.adobe >= 1 {
			return ycckRow
		}
		return cmykRow
	}
	c := h.frame.components
	rgbIDs := c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B'
	if !h.jfif && (h.adobe == 0 || h.adobe < 0 && rgbIDs) {
		return rgbRow
	}
	return yccRow
}

// Contributions of chroma, JFIF 1.02 in 16-bit fixed point; green's two are added before the shift.
var redOfCr, blueOfCb, greenOfCr, greenOfCb = chromaTables()

func chromaTables() (red, blue, greenCr, greenCb [256]int32) {
	const half = 1 << 15
	for i := range int32(256) {
		x := i - 128
		red[i] = (91881*x + half) >> 16   // 1.402
		blue[i] = (116130*x + half) >> 16 // 1.772
		greenCr[i] = -46802 * x           // 0.71414
		greenCb[i] = -22554*x + half      // 0.34414
	}
	return
}

func greyRow(dst []byte, lines [4][]byte) {
	for x, v := range lines[0] {
		px := dst[3*x:][:3:3]
		px[0], px[1], px[2] = v, v, v
	}
}

func rgbRow(dst []byte, lines [4][]byte) {
	for x := range lines[0] {
		px := dst[3*x:][:3:3]
		px[0], px[1], px[2] = lines[0][x], lines[1][x], lines[2][x]
	}
}

func yccRow(dst []byte, lines [4][]byte) {
	cbs, crs := lines[1][:len(lines[0])], lines[2][:len(lines[0])]
	for x, v := range lines[0] {
		y, cb, cr := int32(v), cbs[x], crs[x]
		px := dst[3*x:][:3:3]
		px[0] = clamp(y + redOfCr[cr])
		px[1] = clamp(y + (greenOfCb[cb]+greenOfCr[cr])>>16)
		px[2] = clamp(y + blueOfCb[cb])
	}
}

// cmykRow converts as Pillow does, which takes every CMYK JPEG to be inverted, as Adobe writes them: the stored
// bytes are what is left of the light.
func cmykRow(dst []byte, lines [4][]byte) {
	for x, k := range lines[3] {
		px := dst[3*x:][:3:3]
		for c := range px {
			px[c] = underBlack(255-lines[c][x], k)
		}
	}
}

func ycckRow(dst []byte, lines [4][]byte) {
	yccRow(dst, lines) // 255-C, 255-M, 255-Y as stored inverted, seen through the inversion: the inks
	for x, k := range lines[3] {
		px := dst[3*x:][:3:3]
		for c := range px {
			px[c] = underBlack(px[c], k)
		}
	}
}

// underBlack is the light that an ink leaves where light is what black leaves: light minus its rounded share.
func underBlack(ink, light byte) byte {
	t := int32(ink)*int32(light) + 128
	return clamp(int32(light) - (t>>8+t)>>8)
}
