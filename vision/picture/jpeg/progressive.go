package jpeg

func firstDC(s *scan, p *part, block *[64]int16) bool {
	dc, ok := s.nextDC(p)
	block[0] = int16(dc << s.low)
	return ok
}

func refineDC(s *scan, _ *part, block *[64]int16) bool {
	block[0] |= int16(s.bits.take(1) << s.low)
	return true
}

func firstAC(s *scan, p *part, block *[64]int16) bool {
	if s.run > 0 {
		s.run--
		return true
	}
	for k := s.lo; k <= s.hi; k++ {
		rs, ok := s.bits.symbol(p.ac)
		if !ok {
			return false
		}
		skip, size := int(rs>>4), uint(rs&15)
		if size == 0 {
			if skip != 15 {
				s.run = 1<<skip + s.bits.take(uint(skip)) - 1
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
		block[zigzag[k]] = int16(v << s.low)
	}
	return true
}

// refineAC adds one bit to coefficients that are known to be nonzero and places those that become so.
func refineAC(s *scan, p *part, block *[64]int16) bool {
	k := s.lo
	for s.run == 0 && k <= s.hi {
		rs, ok := s.bits.symbol(p.ac)
		if !ok {
			return false
		}
		skip, size := int(rs>>4), rs&15
		var fresh int16
		switch {
		case size == 1:
			fresh = int16(-1) << s.low
			if s.bits.take(1) == 1 {
				fresh = int16(1) << s.low
			}
		case size != 0:
			return false
		case skip != 15:
			s.run = 1<<skip + s.bits.take(uint(skip))
		}
		if s.run > 0 {
			break
		}
		k = s.refine(block, k, skip)
		if fresh != 0 && k <= s.hi {
			block[zigzag[k]] = fresh
		}
		k++
	}
	if s.run > 0 {
		s.run--
		s.refine(block, k, 64)
	}
	return true
}

// refine corrects the nonzero coefficients from k on and steps over zeros coefficients that stay zero. It returns
// where the next one belongs.
func (s *scan) refine(block *[64]int16, k, zeros int) int {
	bit := int16(1) << s.low
	for ; k <= s.hi; k++ {
		c := &block[zigzag[k]]
		if *c == 0 {
			if zeros == 0 {
				break
			}
			zeros--
			continue
		}
		if s.bits.take(1) == 1 && *c&bit == 0 {
			if *c > 0 {
				*c += bit
			} else {
				*c -= bit
			}
		}
	}
	return k
}
