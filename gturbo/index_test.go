package gturbo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// indexBytes is the fixture's index region with two more entries, so that names and ranges can collide: entry 0 has
// companions, entries 1 and 2 have none.
func indexBytes(t testing.TB) []byte {
	x, err := PlanIndex([]Entry{
		{Name: "a.weight", DType: U32, Shape: [4]uint32{1, 64}, Weights: Extent{Size: 32}, Scales: Extent{Size: 2},
			Biases: Extent{Size: 2}},
		{Name: "b", DType: BF16, Shape: [4]uint32{3}, Weights: Extent{Size: 6}},
		{Name: "c", DType: FP32, Shape: [4]uint32{1, 1, 1, 1}, Weights: Extent{Size: 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := x.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestIndexRejections(t *testing.T) {
	row := func(i int) int { return indexHeaderSize + i*indexEntrySize }
	table := uint32(row(3))
	u64 := func(at int, v uint64) func([]byte) []byte {
		return func(data []byte) []byte { binary.LittleEndian.PutUint64(data[at:], v); return data }
	}
	u32 := func(at int, v uint32) func([]byte) []byte {
		return func(data []byte) []byte { binary.LittleEndian.PutUint32(data[at:], v); return data }
	}
	u16 := func(at int, v uint16) func([]byte) []byte {
		return func(data []byte) []byte { binary.LittleEndian.PutUint16(data[at:], v); return data }
	}
	u8 := func(at int, v byte) func([]byte) []byte {
		return func(data []byte) []byte { data[at] = v; return data }
	}
	shapeOf := func(i int, dims ...uint32) func([]byte) []byte {
		return func(data []byte) []byte {
			for k, d := range dims {
				binary.LittleEndian.PutUint32(data[row(i)+24+4*k:], d)
			}
			return data
		}
	}
	for _, c := range []struct {
		name        string
		change      func([]byte) []byte
		want, class error
	}{
		{"empty", func([]byte) []byte { return nil }, ErrIndexHeader, ErrTruncated},
		{"23 bytes", func(d []byte) []byte { return d[:23] }, ErrIndexHeader, ErrTruncated},
		{"size above the cap", u64(0, MaxIndexSize+Align), ErrMetadataCap, nil},
		{"size that no file has", u64(0, math.MaxUint64), ErrMetadataCap, nil},
		{"size 0", u64(0, 0), ErrIndexSize, ErrTruncated},
		{"size not aligned", u64(0, Align-8), ErrIndexSize, ErrTruncated},
		{"size beyond the file", u64(0, 2*Align), ErrIndexSize, ErrTruncated},
		{"file shorter than its index", func(d []byte) []byte { return d[:Align-1] }, ErrIndexSize, ErrTruncated},
		{"count times 72 overflows", u64(16, math.MaxUint64/8), ErrIndexTableSize, ErrOverflow},
		{"header plus table overflows", u64(16, math.MaxUint64/indexEntrySize), ErrIndexTableSize, ErrOverflow},
		{"table larger than the index", u64(16, 228), ErrIndexTable, ErrCorrupt},
		{"index plus payload overflows", u64(8, math.MaxUint64-Align+1), ErrIndexResident, ErrOverflow},
		{"index plus payload beyond a signed offset", u64(8, math.MaxInt64), ErrIndexResident, ErrOverflow},
		{"reserved byte", u8(row(1)+7, 1), ErrEntryReserved, ErrCorrupt},
		{"name inside the entry table", u32(row(1), table-1), ErrEntryNameRange, ErrCorrupt},
		{"name beyond the index", u32(row(1), Align), ErrEntryNameRange, ErrCorrupt},
		{"name that ends beyond the index", u16(row(1)+4, math.MaxUint16), ErrEntryNameRange, ErrCorrupt},
		{"name not UTF-8", u8(int(table)+8, 0xff), ErrEntryNameUTF8, ErrCorrupt},
		{"name empty", u16(row(1)+4, 0), ErrEntryNameEmpty, ErrCorrupt},
		{"name twice", u8(int(table)+9, 'b'), ErrEntryNameTwice, ErrCorrupt},
		{"dtype 4", u8(row(1)+6, 4), ErrEntryDType, ErrCorrupt},
		{"dtype 255", u8(row(1)+6, 255), ErrEntryDType, ErrCorrupt},
		{"shape without dimensions", shapeOf(1, 0), ErrEntryShape, ErrCorrupt},
		{"shape 1,0,1,0", shapeOf(1, 1, 0, 1, 0), ErrEntryShape, ErrCorrupt},
		{"shape 1,1,0,1", shapeOf(1, 1, 1, 0, 1), ErrEntryShape, ErrCorrupt},
		{"no primary payload", u64(row(1)+16, 0), ErrEntryEmpty, ErrCorrupt},
		{"scale offset without size", u64(row(1)+40, Align), ErrEntryCompanion, ErrCorrupt},
		{"bias offset without size", u64(row(1)+56, Align), ErrEntryCompanion, ErrCorrupt},
		{"weights before the payload", u64(row(1)+8, Align-1), ErrEntryRange, ErrCorrupt},
		{"weights that end beyond the payload", u64(row(2)+16, 5), ErrEntryRange, ErrCorrupt},
		{"weights whose end overflows", u64(row(1)+16, math.MaxUint64), ErrEntryRange, ErrCorrupt},
		{"scales before the payload", u64(row(0)+40, 1), ErrEntryRange, ErrCorrupt},
		{"biases beyond the payload", u64(row(0)+56, Align+46), ErrEntryRange, ErrCorrupt},
		{"weights on weights", u64(row(1)+8, Align), ErrEntryOverlap, ErrCorrupt},
		{"scales on biases", u64(row(0)+40, Align+34), ErrEntryOverlap, ErrCorrupt},
		{"biases on another entry", u64(row(0)+56, Align+36), ErrEntryOverlap, ErrCorrupt},
		{"one byte of overlap", u64(row(1)+8, Align+35), ErrEntryOverlap, ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.change(indexBytes(t))
			_, err := DecodeIndex(data)
			if !errors.Is(err, c.want) || c.class != nil && !errors.Is(err, c.class) {
				t.Fatalf("decoded: got %v, want %v", err, c.want)
			}
			if _, err := ReadIndex(bytes.NewReader(data), int64(len(data))); !errors.Is(err, c.want) {
				t.Fatalf("read: got %v, want %v", err, c.want)
			}
		})
	}
}

func TestIndexWithoutPrimaryPayloadSaysSo(t *testing.T) {
	data := indexBytes(t)
	binary.LittleEndian.PutUint64(data[indexHeaderSize+16:], 0)
	if _, err := DecodeIndex(data); err == nil || !strings.Contains(err.Error(), "primary payload is empty") {
		t.Errorf("got %v", err)
	}
}

func TestIndexAccepts(t *testing.T) {
	t.Run("no entries in an index at the cap", func(t *testing.T) {
		data := make([]byte, MaxIndexSize)
		binary.LittleEndian.PutUint64(data, MaxIndexSize)
		x, err := DecodeIndex(data)
		if err != nil || len(x.Entries) != 0 {
			t.Fatalf("%v, %v", x, err)
		}
	})
	t.Run("gaps between ranges", func(t *testing.T) {
		data := indexBytes(t)
		binary.LittleEndian.PutUint64(data[8:], 1000)
		binary.LittleEndian.PutUint64(data[indexHeaderSize+2*indexEntrySize+8:], Align+900)
		if _, err := DecodeIndex(data); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("ranges in any order", func(t *testing.T) {
		data := indexBytes(t)
		binary.LittleEndian.PutUint64(data[indexHeaderSize+40:], Align+34)
		binary.LittleEndian.PutUint64(data[indexHeaderSize+56:], Align+32)
		if _, err := DecodeIndex(data); err != nil {
			t.Fatal(err)
		}
	})
}

// Names may share bytes of the string table only as far as the table is large: 200 names of 9 kB each in 16 kB would
// cost a reader far more than the file.
func TestIndexNamesThatShareBytesAreBounded(t *testing.T) {
	const count = 100
	data := make([]byte, Align)
	binary.LittleEndian.PutUint64(data[0:], Align)
	binary.LittleEndian.PutUint64(data[8:], count)
	binary.LittleEndian.PutUint64(data[16:], count)
	table := indexHeaderSize + count*indexEntrySize
	for i := range count {
		row := data[indexHeaderSize+i*indexEntrySize:]
		binary.LittleEndian.PutUint32(row[0:], uint32(table+i))
		binary.LittleEndian.PutUint16(row[4:], uint16(Align-table-count))
		row[6] = byte(BF16)
		binary.LittleEndian.PutUint64(row[8:], uint64(Align+i))
		binary.LittleEndian.PutUint64(row[16:], 1)
		binary.LittleEndian.PutUint32(row[24:], 1)
	}
	for i := table; i < len(data); i++ {
		data[i] = 'a' + byte(i*i%23)
	}
	if _, err := DecodeIndex(data); !errors.Is(err, ErrEntryNamesShared) {
		t.Errorf("got %v", err)
	}
}

func TestIndexEncodeRefusals(t *testing.T) {
	entry := Entry{Name: "x", DType: BF16, Shape: [4]uint32{1}, Weights: Extent{Size: 2}}
	long := entry
	long.Name = strings.Repeat("n", math.MaxUint16+1)
	for _, c := range []struct {
		name string
		x    func() (*Index, error)
		want error
	}{
		{"a name of 65536 bytes", func() (*Index, error) { return PlanIndex([]Entry{long}) }, ErrEntryNameLength},
		{"a name twice", func() (*Index, error) { return PlanIndex([]Entry{entry, entry}) }, ErrEntryNameTwice},
		{"an index above the cap", func() (*Index, error) { return &Index{IndexSize: MaxIndexSize + Align}, nil },
			ErrMetadataCap},
		{"an index too small for its entries",
			func() (*Index, error) { return &Index{IndexSize: 0, Entries: []Entry{entry}}, nil }, ErrIndexTable},
		{"a payload that overflows", func() (*Index, error) {
			huge := entry
			huge.Weights.Size = math.MaxInt64
			return PlanIndex([]Entry{entry, huge})
		}, ErrOverflow},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := c.x()
			if err == nil {
				_, err = x.Encode()
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestReadIndexOfAFileThatShrinks(t *testing.T) {
	data := indexBytes(t)
	if _, err := ReadIndex(bytes.NewReader(data[:100]), int64(len(data))); err == nil {
		t.Error("a file shorter than its size was read")
	}
}
