package jpeg

import "fmt"

// scan is one pass over some components. It is decoded one row of MCUs at a time and keeps its place in between.
type scan struct {
	at        int // offset of its segment, for messages
	parts     []*part
	lo, hi    int  // coefficients, in zigzag order
	high, low uint // successive approximation: bits done before, and the lowest bit after
	interval  int

	bits     bits
	units    int   // MCUs done since the last restart
	restarts int   // restart markers passed
	run      int32 // blocks that have nothing more in this band of coefficients (EOBRUN)
}

// part is one component's share of a scan.
type part struct {
	plane     *plane
	dc, ac    *huffman
	predicted int32
}

// zigzag maps coding order to natural order.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// decodeBand decodes the blocks of MCU row band of the picture into the planes' coefficients.
func (s *scan) decodeBand(band, across int, decode blockDecoder) error {
	if len(s.parts) == 1 {
		return s.decodeSingle(band, decode)
	}
	for x := range across {
		if err := s.beginUnit(); err != nil {
			return err
		}
		for _, p := range s.parts {
			c := &p.plane.component
			for v := range c.v {
				for h := range c.h {
					if !decode(s, p, p.plane.block(x*c.h+h, v)) {
						return s.damaged(band)
					}
				}
			}
		}
	}
	return s.endBand(band)
}

// decodeSingle decodes a scan of one component, which leaves out the blocks that lie wholly in the padding.
func (s *scan) decodeSingle(band int, decode blockDecoder) error {
	p := s.parts[0]
	c := &p.plane.component
	across, down := ceilDiv(c.width, 8), ceilDiv(c.height, 8)
	for v := 0; v < c.v && band*c.v+v < down; v++ {
		for x := range across {
			if err := s.beginUnit(); err != nil {
				return err
			}
			if !decode(s, p, p.plane.block(x, v)) {
				return s.damaged(band)
			}
		}
	}
	return s.endBand(band)
}

func (s *scan) beginUnit() error {
	if s.interval > 0 && s.units == s.interval {
		if err := s.endBand(-1); err != nil {
			return err
		}
		if err := s.bits.restart(s.restarts); err != nil {
			return err
		}
		s.restarts++
		s.units, s.run = 0, 0
		for _, p := range s.parts {
			p.predicted = 0
		}
	}
	s.units++
	return nil
}

func (s *scan) endBand(band int) error {
	if s.bits.overrun() {
		return fmt.Errorf("%w: the scan at byte %d ends in row %d of its units", ErrTruncated, s.at, band)
	}
	return nil
}

func (s *scan) damaged(band int) error {
	if err := s.endBand(band); err != nil {
		return err
	}
	return fmt.Errorf("%w: invalid code in row %d of the units of the scan at byte %d", ErrDamaged, band, s.at)
}

// blockDecoder decodes what a scan says about one block; false means an invalid code.
type blockDecoder func(s *scan, p *part, block *[64]int16) bool

// decoder chooses the procedure for a scan.
func (s *scan) decoder(progressive bool) blockDecoder {
	switch {
	case !progressive:
		return sequentialBlock
	case s.lo == 0 && s.high == 0:
		return firstDC
	case s.lo == 0:
		return refineDC
	case s.high == 0:
		return firstAC
	}
	return refineAC
}

func (s *scan) nextDC(p *part) (int32, bool) {
	t, ok := s.bits.symbol(p.dc)
	if !ok || t > 15 {
		return 0, false
	}
	p.predicted += s.bits.extended(uint(t))
	return p.predicted, true
}

func sequentialBlock(s *scan, p *part, block *[64]int16) bool {
	dc, ok := s.nextDC(p)
	if !ok {
		return false
	}
	block[0] = int16(dc)
	for k := 1; k < 64; k++ {
		rs, ok := s.bits.symbol(p.ac)
		if !ok {
			return false
		}
		skip, size := int(rs>>4), uint(rs&15)
		if size == 0 {
			if skip != 15 {
				return true
			}
			k += 15
			continue
		}
		k += skip
		v := s.bits.extended(size)
		if k > 63 {
			return false
		}
		block[zigzag[k]] = int16(v)
	}
	return true
}
