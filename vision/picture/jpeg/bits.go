package jpeg

import "fmt"

// bits reads entropy-coded data, most significant bit first. It stops at markers. Past the end it yields zeros and
// counts them; a decoder asks overrun once per row, so that the inner loops need no error results.
type bits struct {
	data []byte
	pos  int
	acc  uint64 // the next n bits are the lowest n
	n    uint
	made int // zero bits that were made up
}

// need makes at least 32 bits available.
func (b *bits) need() {
	for b.n <= 48 {
		if b.pos >= len(b.data) {
			b.pad()
			return
		}
		v := b.data[b.pos]
		if v == 0xFF {
			if b.pos+1 >= len(b.data) || b.data[b.pos+1] != 0 {
				b.pad()
				return
			}
			b.pos++
		}
		b.pos++
		b.acc = b.acc<<8 | uint64(v)
		b.n += 8
	}
}

func (b *bits) pad() {
	for b.n < 32 {
		b.acc <<= 8
		b.n += 8
		b.made += 8
	}
}

// overrun reports whether bits were used that the file does not have.
func (b *bits) overrun() bool { return b.made > int(b.n) }

// take returns the next k bits, k at most 16.
func (b *bits) take(k uint) int32 {
	if b.n < k {
		b.need()
	}
	b.n -= k
	return int32(b.acc>>b.n) & (1<<k - 1)
}

// extended returns the next k bits as the signed value that they code, T.81 table 5 and figure F.12.
func (b *bits) extended(k uint) int32 {
	if k == 0 {
		return 0
	}
	v := b.take(k)
	if v < 1<<(k-1) {
		v += -1<<k + 1
	}
	return v
}

// symbol decodes one Huffman code. A code that the table lacks gives ok false.
func (b *bits) symbol(h *huffman) (s byte, ok bool) {
	if b.n < 16 {
		b.need()
	}
	next := int32(b.acc>>(b.n-16)) & 0xFFFF
	if e := h.fast[next>>(16-fastBits)]; e != 0 {
		b.n -= uint(e >> 8)
		return byte(e), true
	}
	length := 1
	for next >= h.largest[length] {
		length++
	}
	if length > 16 {
		return 0, false
	}
	b.n -= uint(length)
	return h.symbols[h.offset[length]+next>>(16-length)], true
}

// restart discards what is left of the current interval and steps over the marker that must follow, RSTk.
func (b *bits) restart(k int) error {
	b.acc, b.n, b.made = 0, 0, 0
	for b.pos+1 < len(b.data) && b.data[b.pos] == 0xFF && b.data[b.pos+1] == 0xFF {
		b.pos++
	}
	if b.pos+1 >= len(b.data) {
		return fmt.Errorf("%w: the scan ends where restart %d is due", ErrTruncated, k)
	}
	if want := byte(mRST0 + k&7); b.data[b.pos] != 0xFF || b.data[b.pos+1] != want {
		return fmt.Errorf("%w: bytes %#02x %#02x where restart marker %#02x is due", ErrDamaged, b.data[b.pos],
			b.data[b.pos+1], want)
	}
	b.pos += 2
	return nil
}
