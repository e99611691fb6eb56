package gturbo

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// DecodeIndex reads and checks the head of a file whose first bytes are data; payload bytes may be missing. Errors
// wrap ErrMetadataCap or ErrCorrupt, and the rule that was broken.
func DecodeIndex(data []byte) (*Index, error) {
	if len(data) < indexHeaderSize {
		return nil, fmt.Errorf("resident index: %d of %d header bytes: %w", len(data), indexHeaderSize, ErrIndexHeader)
	}
	indexSize, err := checkIndexSize(data, uint64(len(data)))
	if err != nil {
		return nil, err
	}
	x := &Index{IndexSize: indexSize, ResidentSize: binary.LittleEndian.Uint64(data[8:])}
	count := binary.LittleEndian.Uint64(data[16:])
	table, ok := mul(count, indexEntrySize)
	if ok {
		table, ok = add(table, indexHeaderSize)
	}
	if !ok {
		return nil, fmt.Errorf("resident index: %d entries: %w", count, ErrIndexTableSize)
	}
	if table > indexSize {
		return nil, fmt.Errorf("resident index: %d entries in %d bytes: %w", count, indexSize, ErrIndexTable)
	}
	if end, ok := add(indexSize, x.ResidentSize); !ok || end > maxFileSize {
		return nil, fmt.Errorf("resident index: %d bytes and a payload of %d: %w",
			indexSize, x.ResidentSize, ErrIndexResident)
	}
	if err := x.decodeEntries(data[:indexSize], int(count), int(table)); err != nil {
		return nil, fmt.Errorf("resident index: %w", err)
	}
	if err := x.checkOverlap(); err != nil {
		return nil, fmt.Errorf("resident index: %w", err)
	}
	return x, nil
}

func checkIndexSize(header []byte, available uint64) (uint64, error) {
	size := binary.LittleEndian.Uint64(header)
	if size > MaxIndexSize {
		return 0, fmt.Errorf("resident index: %d bytes, metadata cap %d: %w", size, MaxIndexSize, ErrMetadataCap)
	}
	if size < indexHeaderSize || size > available || size%Align != 0 {
		return 0, fmt.Errorf("resident index: size %d, want a multiple of %d up to %d: %w",
			size, Align, available, ErrIndexSize)
	}
	return size, nil
}

// decodeEntries reads count rows. table is where they end and the string table begins.
func (x *Index) decodeEntries(data []byte, count, table int) error {
	text := string(data[table:]) // names share it
	room := len(text)
	x.Entries = make([]Entry, count)
	names := make(map[string]int, count)
	for i := range x.Entries {
		e := &x.Entries[i]
		row := data[indexHeaderSize+indexEntrySize*i:][:indexEntrySize]
		if row[7] != 0 {
			return fmt.Errorf("entry %d: byte 7 is %d: %w", i, row[7], ErrEntryReserved)
		}
		if err := e.decodeName(row, text, table); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		// Writers store each name once. Without this bound, names that overlap could make a small file expensive.
		if room -= len(e.Name); room < 0 {
			return fmt.Errorf("entry %d: string table of %d bytes: %w", i, len(text), ErrEntryNamesShared)
		}
		if first, ok := names[e.Name]; ok {
			return fmt.Errorf("entries %d and %d: %q: %w", first, i, e.Name, ErrEntryNameTwice)
		}
		names[e.Name] = i
		if err := e.decode(row); err != nil {
			return fmt.Errorf("entry %q: %w", e.Name, err)
		}
		if err := e.check(x.IndexSize, x.IndexSize+x.ResidentSize); err != nil {
			return fmt.Errorf("entry %q: %w", e.Name, err)
		}
	}
	return nil
}

// decodeName takes the entry's name out of the string table, which begins at offset start.
func (e *Entry) decodeName(row []byte, table string, start int) error {
	offset := int64(binary.LittleEndian.Uint32(row[0:]))
	length := int64(binary.LittleEndian.Uint16(row[4:]))
	if offset < int64(start) || offset+length > int64(start+len(table)) {
		return fmt.Errorf("name of %d bytes at offset %d, string table [%d, %d): %w",
			length, offset, start, start+len(table), ErrEntryNameRange)
	}
	e.Name = table[offset-int64(start):][:length]
	if e.Name == "" {
		return ErrEntryNameEmpty
	}
	if !utf8.ValidString(e.Name) {
		return fmt.Errorf("name %q: %w", strings.ToValidUTF8(e.Name, "?"), ErrEntryNameUTF8)
	}
	return nil
}

func (e *Entry) decode(row []byte) error {
	e.DType = DType(row[6])
	if e.DType > FP32 {
		return fmt.Errorf("dtype %d: %w", row[6], ErrEntryDType)
	}
	for i := range e.Shape {
		e.Shape[i] = binary.LittleEndian.Uint32(row[24+4*i:])
	}
	extent := func(at int) Extent {
		return Extent{binary.LittleEndian.Uint64(row[at:]), binary.LittleEndian.Uint64(row[at+8:])}
	}
	e.Weights, e.Scales, e.Biases = extent(8), extent(40), extent(56)
	return nil
}

// check holds the entry against the payload [lo, hi).
func (e *Entry) check(lo, hi uint64) error {
	if e.Shape[0] == 0 {
		return fmt.Errorf("shape %v: %w", e.Shape, ErrEntryShape)
	}
	for i := 1; i < len(e.Shape); i++ {
		if e.Shape[i] != 0 && e.Shape[i-1] == 0 {
			return fmt.Errorf("shape %v: %w", e.Shape, ErrEntryShape)
		}
	}
	if e.Weights.Size == 0 {
		return ErrEntryEmpty
	}
	for _, part := range []struct {
		name string
		Extent
	}{{"weights", e.Weights}, {"scales", e.Scales}, {"biases", e.Biases}} {
		if part.Size == 0 {
			if part.Offset != 0 {
				return fmt.Errorf("%s: offset %d: %w", part.name, part.Offset, ErrEntryCompanion)
			}
			continue
		}
		if end, ok := add(part.Offset, part.Size); !ok || part.Offset < lo || end > hi {
			return fmt.Errorf("%s: %d bytes at offset %d, payload [%d, %d): %w",
				part.name, part.Size, part.Offset, lo, hi, ErrEntryRange)
		}
	}
	return nil
}

func (x *Index) checkOverlap() error {
	type owned struct {
		Extent
		entry int
	}
	extents := make([]owned, 0, len(x.Entries))
	for i := range x.Entries {
		for _, extent := range []Extent{x.Entries[i].Weights, x.Entries[i].Scales, x.Entries[i].Biases} {
			if extent.Size > 0 {
				extents = append(extents, owned{extent, i})
			}
		}
	}
	slices.SortFunc(extents, func(a, b owned) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := 1; i < len(extents); i++ {
		before, after := extents[i-1], extents[i]
		if before.Offset+before.Size > after.Offset {
			return fmt.Errorf("entries %q and %q: [%d, %d) and [%d, %d): %w",
				x.Entries[before.entry].Name, x.Entries[after.entry].Name,
				before.Offset, before.Offset+before.Size, after.Offset, after.Offset+after.Size, ErrEntryOverlap)
		}
	}
	return nil
}
