package install

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// headerCap bounds the JSON part of a safetensors file, inclusive.
const headerCap = 16 << 20

// headerLengthBytes is the size of the little-endian length that opens a safetensors file.
const headerLengthBytes = 8

// DType is an element type that checkpoints of this family use.
type DType string

// The element types accepted in a safetensors header; any other name is refused.
const (
	U32  DType = "U32"
	BF16 DType = "BF16"
	F16  DType = "F16"
	F32  DType = "F32"
)

// Bytes returns the size of one element, or 0 for a type that is not one of the four.
func (d DType) Bytes() int64 {
	switch d {
	case U32, F32:
		return 4
	case BF16, F16:
		return 2
	}
	return 0
}

// Tensor is one entry of a safetensors header. Shape is the storage shape, slowest axis first; Offset is absolute in
// the shard's file.
type Tensor struct {
	Name   string
	Shard  string
	DType  DType
	Shape  []int64
	Offset int64
	Size   int64
}

// headerLength decodes the first eight bytes of a shard of fileSize bytes and checks the length they announce.
func headerLength(prefix []byte, fileSize int64) (int64, error) {
	if len(prefix) != headerLengthBytes {
		return 0, fmt.Errorf("%w: %d of %d length bytes", ErrHeader, len(prefix), headerLengthBytes)
	}
	n := binary.LittleEndian.Uint64(prefix)
	if n > headerCap {
		return 0, fmt.Errorf("%w: header of %d bytes exceeds the cap of %d", ErrHeader, n, headerCap)
	}
	if int64(n) > fileSize-headerLengthBytes {
		return 0, fmt.Errorf("%w: header of %d bytes in a file of %d", ErrHeader, n, fileSize)
	}
	return int64(n), nil
}

// ParseHeader decodes the JSON of a safetensors header: raw is everything between the length and the payload,
// fileSize the size of the whole shard. The tensors come back sorted by name, every range inside the file and every
// size equal to shape times element size. Errors wrap ErrHeader.
func ParseHeader(shard string, raw []byte, fileSize int64) ([]Tensor, error) {
	if len(raw) > headerCap {
		return nil, fmt.Errorf("%w: %s: %d bytes exceed the cap of %d", ErrHeader, shard, len(raw), headerCap)
	}
	base := headerLengthBytes + int64(len(raw))
	var tensors []Tensor
	err := strictjson.Parse(raw, func(r *strictjson.Reader) error {
		return r.Map(func(name string) error {
			if name == "__metadata__" {
				return r.Skip()
			}
			t, err := parseTensor(r, base, fileSize)
			if err != nil {
				return err
			}
			t.Name, t.Shard = name, shard
			tensors = append(tensors, t)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrHeader, shard, err)
	}
	slices.SortFunc(tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	return tensors, nil
}

// tensorKeys are the members of a tensor's description.
var tensorKeys = strictjson.Keys{Required: []string{"dtype", "shape", "data_offsets"}}

// parseTensor reads one tensor description; base is the absolute offset of the payload.
func parseTensor(r *strictjson.Reader, base, fileSize int64) (Tensor, error) {
	var t Tensor
	var dtype string
	var offsets []int64
	err := r.Object(tensorKeys, func(key string) error {
		switch key {
		case "dtype":
			return r.String(&dtype)
		case "shape":
			return readInts(r, &t.Shape)
		default:
			return readInts(r, &offsets)
		}
	})
	if err != nil {
		return t, err
	}
	if t.DType = DType(dtype); t.DType.Bytes() == 0 {
		return t, fmt.Errorf("element type %q is none of U32, BF16, F16, F32", dtype)
	}
	if len(offsets) != 2 {
		return t, fmt.Errorf("%d data_offsets, expected 2", len(offsets))
	}
	begin, end := offsets[0], offsets[1]
	if begin < 0 || begin > end || end > fileSize-base {
		return t, fmt.Errorf("bytes %d to %d of a payload of %d", begin, end, fileSize-base)
	}
	t.Offset, t.Size = base+begin, end-begin
	want, ok := product(t.Shape, t.DType.Bytes())
	if !ok || want != t.Size {
		return t, fmt.Errorf("shape %v of %s in %d bytes", t.Shape, t.DType, t.Size)
	}
	return t, nil
}

func readInts(r *strictjson.Reader, dst *[]int64) error {
	return r.Array(func(int) error {
		var n int64
		err := r.Int64(&n)
		*dst = append(*dst, n)
		return err
	})
}

// product multiplies unit by every dimension. ok is false for a negative dimension and when the product exceeds 63
// bits at any point, also where a later zero would bring it back.
func product(shape []int64, unit int64) (n int64, ok bool) {
	n = unit
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || lo > 1<<63-1 {
			return 0, false
		}
		n = int64(lo)
	}
	return n, true
}
