package gturbo

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenRefusesColumnsThatSplitAGroup(t *testing.T) {
	a := tinyArch() // one head of 32: the output projection has 32 columns
	a.NumHeads, a.NumKVHeads, a.NumFullKVHeads = 1, 1, 1
	if _, err := Open(context.Background(), newTiny(t, a).write(t), OpenOptions{}); !errors.Is(err, ErrGroupSplit) {
		t.Errorf("got %v", err)
	}
}

func TestSchemaRefusesDimensionsOfNoModel(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Arch)
		want   error
	}{
		{"KV heads that do not divide the query heads", func(a *Arch) { a.NumKVHeads = 3 }, ErrDimensions},
		{"full KV heads that do not divide the query heads", func(a *Arch) { a.NumFullKVHeads = 3 }, ErrDimensions},
		{"heads times width beyond 64 bits", func(a *Arch) {
			a.NumHeads, a.HeadDim = math.MaxInt/2+1, 4
			a.NumKVHeads, a.NumFullKVHeads = 1, 1
		}, ErrDimensionLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			ti := newTiny(t, tinyArch())
			c.change(&ti.manifest.Arch)
			s := schema{arch: &ti.manifest.Arch, quant: ti.manifest.Quant, entries: indexEntries(ti.index)}
			if err := s.check(); !errors.Is(err, c.want) || !errors.Is(err, ErrSchema) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestAffineSizes(t *testing.T) {
	for _, c := range []struct {
		bits, rows, columns int
		weights, group      uint64
		want                error
	}{
		{4, 704, 2816, 991232, 61952, nil},
		{8, 128, 2816, 360448, 11264, nil},
		{4, 1, 63, 0, 0, ErrGroupSplit},
		{4, 1, 65, 0, 0, ErrGroupSplit},
		{4, math.MaxInt, 64, 0, 0, ErrDimensionLimit},
		{8, math.MaxInt / 64, 64, 0, 0, ErrDimensionLimit},
	} {
		weights, group, err := affineSizes(c.bits, c.rows, c.columns)
		if weights != c.weights || group != c.group || !errors.Is(err, c.want) {
			t.Errorf("%d bits, %d x %d: %d, %d, %v", c.bits, c.rows, c.columns, weights, group, err)
		}
	}
}

func TestSubTensorBeyondFourGiB(t *testing.T) {
	want := SubTensor{Size: 32, DType: "BF16", Shape: shape(16, 1)}
	for offset, ok := range map[uint64]bool{1<<32 - 32: true, 1<<32 - 30: false, 1 << 32: false, math.MaxUint64 - 1: false} {
		got := want
		got.Offset = offset
		if err := got.checkAgainst(want, 2); ok != (err == nil) || !ok && !errors.Is(err, ErrBlobRange) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

// A file that is cut short between the look at its size and the hashing is unreadable, not merely different.
func TestFileThatShrinksWhileItIsHashed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := hashListed(context.Background(), f, "file", FileRecord{Size: 1001, SHA256: SHA256(nil)}, nil)
	if err != nil || d == nil || d.Kind != ErrUnreadable || d.Cause == nil {
		t.Errorf("got %+v, %v", d, err)
	}
	if text := d.String(); text != "file: cannot be read: read 1001 bytes at offset 0: got 1000: unexpected EOF" {
		t.Errorf("message %q", text)
	}
}
