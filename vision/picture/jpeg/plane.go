package jpeg

// plane holds the current rows of one component.
type plane struct {
	component component
	quant     *[64]int32 // natural order
	bitsLeft  [64]int8   // per coefficient, in coding order: bits that no scan has coded yet; -1 for never coded
	blocks    int        // per row, padded to whole MCUs
	coefs     [][64]int16
	samples   []byte // two bands in turn, [2*8*v, blocks*8]
}

func (p *plane) init(c component, blocks int) {
	p.component, p.blocks = c, blocks
	p.coefs = make([][64]int16, c.v*blocks)
	p.samples = make([]byte, 2*8*c.v*blocks*8)
	for i := range p.bitsLeft {
		p.bitsLeft[i] = -1
	}
}

// block is the one in column x and row v of the current band.
func (p *plane) block(x, v int) *[64]int16 { return &p.coefs[v*p.blocks+x] }

// row gives the samples of row y, which must lie in one of the two newest bands.
func (p *plane) row(y int) []byte {
	stride := p.blocks * 8
	rows := 2 * 8 * p.component.v
	return p.samples[y%rows*stride:][:p.component.width]
}

// rowsFor gives the rows that make row y of the picture: the nearest, and for triangle upsampling the second nearest.
// Beyond the edges the outermost row stands in.
func (p *plane) rowsFor(y, maxV int) (near, far int) {
	near = y * p.component.v / maxV
	far = near
	if maxV == 2*p.component.v {
		if y%2 == 0 {
			far = max(near-1, 0)
		} else {
			far = min(near+1, p.component.height-1)
		}
	}
	return near, far
}

// transform turns the coefficients of a band into samples.
func (p *plane) transform(band int) {
	stride := p.blocks * 8
	base := band % 2 * 8 * p.component.v * stride
	for i := range p.coefs {
		at := base + i/p.blocks*8*stride + i%p.blocks*8
		inverseDCT(&p.coefs[i], p.quant, p.samples[at:], stride)
	}
}
