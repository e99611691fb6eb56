package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rwcarlsen/goexif/exif"
)

const orientationTag = 0x0112

// setOrientation takes the orientation from an Exif block. A block that says nothing usable leaves the picture as
// it is stored, with a note: a malformed block never loses a picture.
func (h *Header) setOrientation(block []byte) {
	if len(block) == 0 {
		return
	}
	value, err := readOrientation(block)
	switch {
	case err != nil:
		h.Notes = append(h.Notes, fmt.Sprintf("Exif orientation ignored: %v", err))
	case value < 1 || value > 8:
		h.Notes = append(h.Notes, fmt.Sprintf("Exif orientation ignored: %d is not 1 to 8", value))
	default:
		h.Orientation = Orientation(value)
	}
}

// readOrientation gives the value in the first directory of a TIFF block, 1 if it has none.
func readOrientation(block []byte) (value int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed block: %v", p)
		}
	}()
	one, err := orientationAlone(block)
	if one == nil || err != nil {
		return 1, err
	}
	x, err := exif.Decode(bytes.NewReader(one))
	if err != nil {
		return 0, err
	}
	tag, err := x.Get(exif.Orientation)
	if err != nil {
		return 0, err
	}
	return tag.Int(0)
}

// orientationAlone returns a block that holds only the orientation entry of block's first directory, nil if there is
// none. goexif follows every offset and believes every count: directories that point at each other keep it busy for
// ever, and an entry that counts 2^30 values takes 8 GiB. Of this block it can only read what it should.
func orientationAlone(block []byte) ([]byte, error) {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(block, []byte("II*\x00")):
	case bytes.HasPrefix(block, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return nil, fmt.Errorf("block begins with % x", block[:min(len(block), 4)])
	}
	if len(block) < 8 {
		return nil, fmt.Errorf("block of %d bytes", len(block))
	}
	at := int64(order.Uint32(block[4:]))
	if at+2 > int64(len(block)) {
		return nil, fmt.Errorf("directory at %d in a block of %d bytes", at, len(block))
	}
	entries := block[at+2:]
	for range order.Uint16(block[at:]) {
		if len(entries) < 12 {
			return nil, fmt.Errorf("directory ends early in a block of %d bytes", len(block))
		}
		entry := entries[:12]
		entries = entries[12:]
		if order.Uint16(entry) != orientationTag {
			continue
		}
		const short = 3
		if kind, count := order.Uint16(entry[2:]), order.Uint32(entry[4:]); kind != short || count != 1 {
			return nil, fmt.Errorf("entry of type %d with %d values", kind, count)
		}
		one := make([]byte, 8+2+12+4) // header, count, entry, no further directory
		copy(one, block[:4])
		order.PutUint32(one[4:], 8)
		order.PutUint16(one[8:], 1)
		copy(one[10:], entry)
		return one, nil
	}
	return nil, nil
}
