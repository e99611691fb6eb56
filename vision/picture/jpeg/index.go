package jpeg

import "fmt"

// maxScans bounds the work that one file can ask for. Progressive encoders write about ten.
const maxScans = 256

// index walks the whole file without decoding and lists its scans with the tables in force at each.
func (r *Reader) index(data []byte) error {
	w, err := newWalker(data)
	if err != nil {
		return err
	}
	var tables tableState
	for {
		seg, err := w.next()
		if err != nil && len(r.scans) > 0 {
			return nil // the file ends without an end marker; a scan that lacks data says so itself
		}
		if err != nil {
			return err
		}
		switch seg.marker {
		case mEOI:
			return nil
		case mDNL:
			return fmt.Errorf("%w: height defined after the first scan", ErrUnsupported)
		case mSOS:
			if len(r.scans) == maxScans {
				return fmt.Errorf("%w: more than %d scans", ErrUnsupported, maxScans)
			}
			s, err := r.newScan(seg, &tables)
			if err != nil {
				return err
			}
			s.bits.data = w.skipScan()
			r.scans = append(r.scans, s)
		default:
			if err := tables.read(seg); err != nil {
				return err
			}
		}
	}
}

// tableState is what table segments have defined so far.
type tableState struct {
	quant    [4]*[64]int32 // natural order
	dc, ac   [4]*huffman
	interval int // MCUs between restarts, 0 for none
}

func (t *tableState) read(seg segment) error {
	switch seg.marker {
	case mDQT:
		return t.readQuant(seg)
	case mDHT:
		return readHuffmans(seg, &t.dc, &t.ac)
	case mDRI:
		if len(seg.body) != 2 {
			return fmt.Errorf("%w: restart segment of %d bytes at byte %d", ErrDamaged, len(seg.body), seg.at)
		}
		t.interval = int(seg.body[0])<<8 | int(seg.body[1])
	}
	return nil
}

func (t *tableState) readQuant(seg segment) error {
	b := seg.body
	for len(b) > 0 {
		wide, id := int(b[0]>>4), b[0]&15
		if wide > 1 || id > 3 || len(b) < 1+64*(1+wide) {
			return fmt.Errorf("%w: quantization segment of %d bytes at byte %d", ErrDamaged, len(seg.body), seg.at)
		}
		q := new([64]int32)
		for i, at := range zigzag {
			if wide == 1 {
				q[at] = int32(b[1+2*i])<<8 | int32(b[2+2*i])
			} else {
				q[at] = int32(b[1+i])
			}
		}
		t.quant[id] = q
		b = b[1+64*(1+wide):]
	}
	return nil
}

// newScan reads a start-of-scan segment and binds it to the tables of this moment.
func (r *Reader) newScan(seg segment, t *tableState) (*scan, error) {
	b := seg.body
	if len(b) < 1 || b[0] < 1 || b[0] > 4 || len(b) != 4+2*int(b[0]) {
		return nil, fmt.Errorf("%w: scan segment of %d bytes at byte %d", ErrDamaged, len(b), seg.at)
	}
	s := &scan{at: seg.at, interval: t.interval}
	for i := range int(b[0]) {
		p, err := r.newPart(b[1+2*i], b[2+2*i], t)
		if err != nil {
			return nil, err
		}
		for _, other := range s.parts {
			if other.plane == p.plane {
				return nil, fmt.Errorf("%w: component twice in the scan at byte %d", ErrDamaged, seg.at)
			}
		}
		s.parts = append(s.parts, p)
	}
	tail := b[len(b)-3:]
	s.lo, s.hi, s.high, s.low = int(tail[0]), int(tail[1]), uint(tail[2]>>4), uint(tail[2]&15)
	if !r.header.Progressive {
		s.lo, s.hi, s.high, s.low = 0, 63, 0, 0
	}
	return s, s.check(r.header.Progressive)
}

func (r *Reader) newPart(id, tables byte, t *tableState) (*part, error) {
	for i := range r.planes {
		p := &r.planes[i]
		if p.component.id != int(id) {
			continue
		}
		if p.quant == nil { // the table at the first scan of a component counts
			p.quant = t.quant[p.component.table]
		}
		if p.quant == nil || tables>>4 > 3 || tables&15 > 3 {
			return nil, fmt.Errorf("%w: scan of component %d lacks tables", ErrDamaged, id)
		}
		return &part{plane: p, dc: t.dc[tables>>4], ac: t.ac[tables&15]}, nil
	}
	return nil, fmt.Errorf("%w: scan of an unknown component %d", ErrDamaged, id)
}

// check holds the scan to the rules of T.81 and notes which coefficients of its components it completes.
func (s *scan) check(progressive bool) error {
	bad := func(what string) error {
		return fmt.Errorf("%w: scan at byte %d: %s", ErrDamaged, s.at, what)
	}
	if s.lo > s.hi || s.hi > 63 || s.low > 13 || progressive && (s.lo == 0) != (s.hi == 0) {
		return bad(fmt.Sprintf("coefficients %d to %d at bit %d", s.lo, s.hi, s.low))
	}
	if s.lo > 0 && len(s.parts) > 1 {
		return bad("several components with AC coefficients")
	}
	blocks := 0
	for _, p := range s.parts {
		blocks += p.plane.component.h * p.plane.component.v
		if s.lo == 0 && s.high == 0 && p.dc == nil || s.hi > 0 && p.ac == nil {
			return bad("no Huffman table")
		}
		if !progressive && p.plane.bitsLeft[0] == 0 {
			return bad("a component is coded twice")
		}
		for k := s.lo; k <= s.hi; k++ {
			p.plane.bitsLeft[k] = int8(s.low)
		}
	}
	if len(s.parts) > 1 && blocks > 10 {
		return bad(fmt.Sprintf("%d blocks in one unit, at most 10", blocks))
	}
	return nil
}

// complete reports an error unless every coefficient of every component was coded down to its last bit. A file that
// was cut between two scans and closed again would otherwise pass as a blurred picture.
func (r *Reader) complete() error {
	for i := range r.planes {
		for k, left := range r.planes[i].bitsLeft {
			if left != 0 {
				return fmt.Errorf("%w: coefficient %d of component %d is missing or coarse", ErrTruncated, k, i)
			}
		}
	}
	return nil
}
