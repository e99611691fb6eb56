package gturbo

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Index is the head of model_weights.bin: which tensor lies where in the payload that follows it at once.
type Index struct {
	IndexSize    uint64 // bytes of the head, a multiple of Align; the payload starts here
	ResidentSize uint64 // bytes of the payload
	Entries      []Entry
}

// Entry describes one resident tensor.
type Entry struct {
	Name  string
	DType DType
	// Shape is logical, as if dequantized, slowest axis first, with trailing zeros.
	Shape [4]uint32
	// Weights are the primary bytes. Scales and Biases are zero unless the tensor is quantized.
	Weights, Scales, Biases Extent
}

// Extent is a run of bytes in a file. Size 0 means absent, and then Offset is 0 too.
type Extent struct{ Offset, Size uint64 }

// DType is the element type of a resident tensor as the index stores it.
type DType uint8

const (
	U32 DType = iota // packed codes
	BF16
	FP16
	FP32
)

func (d DType) String() string {
	if names := [...]string{"U32", "BF16", "FP16", "FP32"}; int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

const (
	indexHeaderSize = 24
	indexEntrySize  = 72
)

// PlanIndex lays out entries in their order, as writers of the format do: payload back to back without padding,
// weights, scales and biases of an entry together. Sizes are taken from entries, offsets are filled in.
func PlanIndex(entries []Entry) (*Index, error) {
	x := &Index{Entries: append([]Entry(nil), entries...)}
	names := 0
	for i := range entries {
		names += len(entries[i].Name)
	}
	var ok bool
	if x.IndexSize, ok = AlignUp(uint64(indexHeaderSize + indexEntrySize*len(entries) + names)); !ok {
		return nil, fmt.Errorf("plan resident index: %d entries: %w", len(entries), ErrOverflow)
	}
	end := x.IndexSize
	for i := range x.Entries {
		e := &x.Entries[i]
		for _, extent := range []*Extent{&e.Weights, &e.Scales, &e.Biases} {
			extent.Offset = 0
			if extent.Size == 0 {
				continue
			}
			extent.Offset = end
			if end, ok = add(end, extent.Size); !ok || end > maxFileSize {
				return nil, fmt.Errorf("plan resident index: entry %q: %w", e.Name, ErrOverflow)
			}
		}
	}
	x.ResidentSize = end - x.IndexSize
	return x, nil
}

// Encode writes the IndexSize bytes of the head and checks them with the reader's own rules.
func (x *Index) Encode() ([]byte, error) {
	if x.IndexSize > MaxIndexSize {
		return nil, fmt.Errorf("encode resident index: %d bytes, metadata cap %d: %w",
			x.IndexSize, MaxIndexSize, ErrMetadataCap)
	}
	need := uint64(indexHeaderSize) + indexEntrySize*uint64(len(x.Entries))
	for i := range x.Entries {
		if n := len(x.Entries[i].Name); n > math.MaxUint16 {
			return nil, fmt.Errorf("encode resident index: entry %d: name of %d bytes: %w", i, n, ErrEntryNameLength)
		}
		need += uint64(len(x.Entries[i].Name))
	}
	if need > x.IndexSize {
		return nil, fmt.Errorf("encode resident index: %d of %d bytes: %w", need, x.IndexSize, ErrIndexTable)
	}
	data := make([]byte, x.IndexSize)
	binary.LittleEndian.PutUint64(data[0:], x.IndexSize)
	binary.LittleEndian.PutUint64(data[8:], x.ResidentSize)
	binary.LittleEndian.PutUint64(data[16:], uint64(len(x.Entries)))
	name := indexHeaderSize + indexEntrySize*len(x.Entries)
	for i := range x.Entries {
		e := &x.Entries[i]
		e.encode(data[indexHeaderSize+indexEntrySize*i:], name)
		name += copy(data[name:], e.Name)
	}
	if _, err := DecodeIndex(data); err != nil {
		return nil, fmt.Errorf("encode %w", err)
	}
	return data, nil
}

// encode writes the entry's 72 bytes; its name stands at offset name.
func (e *Entry) encode(row []byte, name int) {
	binary.LittleEndian.PutUint32(row[0:], uint32(name))
	binary.LittleEndian.PutUint16(row[4:], uint16(len(e.Name)))
	row[6] = byte(e.DType)
	binary.LittleEndian.PutUint64(row[8:], e.Weights.Offset)
	binary.LittleEndian.PutUint64(row[16:], e.Weights.Size)
	for i, d := range e.Shape {
		binary.LittleEndian.PutUint32(row[24+4*i:], d)
	}
	binary.LittleEndian.PutUint64(row[40:], e.Scales.Offset)
	binary.LittleEndian.PutUint64(row[48:], e.Scales.Size)
	binary.LittleEndian.PutUint64(row[56:], e.Biases.Offset)
	binary.LittleEndian.PutUint64(row[64:], e.Biases.Size)
}

// ReadIndex reads the head of a file of size bytes. The cap is checked before the head is allocated; the payload is
// neither read nor needed.
func ReadIndex(f io.ReaderAt, size int64) (*Index, error) {
	header := make([]byte, indexHeaderSize)
	if size < indexHeaderSize {
		return nil, fmt.Errorf("resident index: %d of %d header bytes: %w", size, indexHeaderSize, ErrIndexHeader)
	}
	if err := readAt(f, header, 0); err != nil {
		return nil, fmt.Errorf("resident index: header: %w", err)
	}
	indexSize, err := checkIndexSize(header, uint64(size))
	if err != nil {
		return nil, err
	}
	data := make([]byte, indexSize)
	if err := readAt(f, data, 0); err != nil {
		return nil, fmt.Errorf("resident index: %w", err)
	}
	return DecodeIndex(data)
}

func readAt(f io.ReaderAt, dst []byte, at int64) error {
	if n, err := f.ReadAt(dst, at); n < len(dst) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("got %d of %d bytes at offset %d: %w", n, len(dst), at, err)
	}
	return nil
}
