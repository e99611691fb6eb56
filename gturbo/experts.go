package gturbo

import (
	"fmt"
	"math"
	"slices"
)

// ExpertLayout says where the nine tensors of an expert lie in its blob; the same for all experts of an install.
type ExpertLayout struct {
	Stride         int // bytes from one blob to the next, a multiple of Align
	Gate, Up, Down AffineRange
}

// AffineRange is a quantized matrix [Rows, Columns] of Bits bits, given by byte offsets in a blob. Codes lie at a
// multiple of 4, scales and biases at even offsets.
type AffineRange struct {
	Codes, Scales, Biases int
	Rows, Columns, Bits   int
}

// expertLayout checks the blobs of l against the architecture and returns their common layout.
//
// The format would let each layer order its tensors differently. No writer does, and the runtime keeps one layout for
// all layers, so that is refused (ErrExpertsDiffer).
func expertLayout(l *Layout, a *Arch, q *Quant) (ExpertLayout, error) {
	first := l.Layers[0].Experts[0].Tensors
	for i := range l.Layers {
		experts := l.Layers[i].Experts
		if odd := sameExperts(experts); odd >= 0 {
			return ExpertLayout{}, fmt.Errorf("layout.json: layer %d: experts 0 and %d: %w", i, odd, ErrExpertsDiffer)
		}
		if !sameTensors(experts[0].Tensors, first) {
			return ExpertLayout{}, fmt.Errorf("layout.json: layers 0 and %d: %w", i, ErrExpertsDiffer)
		}
	}
	if l.ExpertStride > math.MaxInt {
		return ExpertLayout{}, fmt.Errorf("layout.json: stride %d: %w", l.ExpertStride, ErrBlobRange)
	}
	blob := ExpertLayout{Stride: int(l.ExpertStride)}
	for _, m := range []struct {
		role          string
		rows, columns int
		dst           *AffineRange
	}{
		{"gate", a.MoEIntermediateSize, a.HiddenSize, &blob.Gate},
		{"up", a.MoEIntermediateSize, a.HiddenSize, &blob.Up},
		{"down", a.HiddenSize, a.MoEIntermediateSize, &blob.Down},
	} {
		var err error
		if *m.dst, err = affineRange(first, m.role, q.RoutedExpert.WeightBits, m.rows, m.columns); err != nil {
			return ExpertLayout{}, fmt.Errorf("layout.json: %w", err)
		}
	}
	return blob, nil
}

// affineRange checks the three tensors of a role.
func affineRange(tensors map[string]SubTensor, role string, bits, rows, columns int) (AffineRange, error) {
	r := AffineRange{Rows: rows, Columns: columns, Bits: bits}
	weights, group, err := affineSizes(bits, rows, columns)
	if err != nil {
		return r, fmt.Errorf("%s: %w", role, err)
	}
	for _, part := range []struct {
		role  string
		want  SubTensor
		align uint64
		dst   *int
	}{
		{role, SubTensor{Size: weights, DType: "U32", Shape: shape(rows, columns), Bits: &bits}, 4, &r.Codes},
		{role + "_scales", SubTensor{Size: group, DType: "BF16", Shape: shape(rows, columns/GroupSize)}, 2, &r.Scales},
		{role + "_biases", SubTensor{Size: group, DType: "BF16", Shape: shape(rows, columns/GroupSize)}, 2, &r.Biases},
	} {
		got, ok := tensors[part.role]
		if !ok {
			return r, fmt.Errorf("%s: %w", part.role, ErrRoleMissing)
		}
		if err := got.checkAgainst(part.want, part.align); err != nil {
			return r, fmt.Errorf("%s: %w", part.role, err)
		}
		*part.dst = int(got.Offset)
	}
	return r, nil
}

func shape(rows, columns int) []uint32 { return []uint32{uint32(rows), uint32(columns)} }

func (t SubTensor) checkAgainst(want SubTensor, align uint64) error {
	switch {
	case t.DType != want.DType:
		return fmt.Errorf("dtype %s, want %s: %w", t.DType, want.DType, ErrTensorDType)
	case !slices.Equal(t.Shape, want.Shape):
		return fmt.Errorf("shape %v, want %v: %w", t.Shape, want.Shape, ErrTensorShape)
	case (t.Bits == nil) != (want.Bits == nil) || t.Bits != nil && *t.Bits != *want.Bits:
		return fmt.Errorf("bits %s, want %s: %w", bitsText(t.Bits), bitsText(want.Bits), ErrTensorBits)
	case t.Size != want.Size:
		return fmt.Errorf("%d bytes, want %d: %w", t.Size, want.Size, ErrTensorSize)
	case t.Offset%align != 0:
		return fmt.Errorf("offset %d, want a multiple of %d: %w", t.Offset, align, ErrTensorAlign)
	case t.Offset > math.MaxUint32 || t.Offset+t.Size > 1<<32:
		return fmt.Errorf("%d bytes at offset %d: %w", t.Size, t.Offset, ErrBlobRange)
	}
	return nil
}

func bitsText(bits *int) string {
	if bits == nil {
		return "absent"
	}
	return fmt.Sprint(*bits)
}
