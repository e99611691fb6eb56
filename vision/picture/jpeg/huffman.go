package jpeg

import "fmt"

// fastBits is how many bits the first table look-up resolves.
const fastBits = 9

// huffman is a decoding table: codes of up to fastBits bits by one look-up, longer ones by comparing with the
// largest code of each length.
type huffman struct {
	fast    [1 << fastBits]uint16 // length<<8 | symbol; 0 where the code is longer or absent
	symbols []byte
	largest [18]int32 // per length: largest code left-aligned to 16 bits, plus one step; 0 for no codes
	offset  [17]int32 // per length: index of symbols minus code
}

// newHuffman builds the table from the number of codes of each length, [16], and their symbols.
func newHuffman(counts, symbols []byte) (*huffman, error) {
	h := &huffman{symbols: symbols}
	code, k := int32(0), 0
	for length := 1; length <= 16; length++ {
		n := int32(counts[length-1])
		h.offset[length] = int32(k) - code
		if code+n > 1<<length {
			return nil, fmt.Errorf("%w: Huffman table has too many codes of %d bits", ErrDamaged, length)
		}
		for range n {
			if length <= fastBits {
				h.fill(code, length, symbols[k])
			}
			code++
			k++
		}
		h.largest[length] = code << (16 - length)
		code <<= 1
	}
	h.largest[17] = 1 << 30
	return h, nil
}

func (h *huffman) fill(code int32, length int, symbol byte) {
	first := code << (fastBits - length)
	for i := range int32(1) << (fastBits - length) {
		h.fast[first+i] = uint16(length)<<8 | uint16(symbol)
	}
}

// readHuffmans adds the tables of a DHT segment to dc and ac. Tables are never changed once made: scans keep theirs.
func readHuffmans(seg segment, dc, ac *[4]*huffman) error {
	b := seg.body
	for len(b) > 0 {
		if len(b) < 17 {
			return fmt.Errorf("%w: Huffman segment at byte %d ends early", ErrDamaged, seg.at)
		}
		class, id := b[0]>>4, b[0]&15
		total := 0
		for _, n := range b[1:17] {
			total += int(n)
		}
		if class > 1 || id > 3 || total > 256 || len(b) < 17+total {
			return fmt.Errorf("%w: Huffman table of class %d, id %d, %d codes at byte %d", ErrDamaged, class, id, total, seg.at)
		}
		h, err := newHuffman(b[1:17], b[17:17+total])
		if err != nil {
			return err
		}
		if class == 0 {
			dc[id] = h
		} else {
			ac[id] = h
		}
		b = b[17+total:]
	}
	return nil
}
