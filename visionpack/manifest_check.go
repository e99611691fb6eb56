package visionpack

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Check holds m to the format, on encode as on decode. The error wraps ErrMetadata and the rule that is broken.
func (m *Manifest) Check() error {
	switch {
	case m.Magic != Magic:
		return fmt.Errorf("magic %q, want %q: %w", m.Magic, Magic, ErrMagic)
	case m.ArtifactKind != Kind:
		return fmt.Errorf("artifactKind %q, want %q: %w", m.ArtifactKind, Kind, ErrKind)
	case m.VersionMajor != VersionMajor || m.VersionMinor != VersionMinor:
		return fmt.Errorf("version %d.%d, want %d.%d: %w",
			m.VersionMajor, m.VersionMinor, VersionMajor, VersionMinor, ErrVersion)
	}
	for _, f := range []struct{ key, value string }{
		{"modelID", m.ModelID}, {"sourceRevision", m.SourceRevision},
		{"compatibleTextSourceSnapshotHash", m.TextSnapshotHash},
	} {
		if f.value == "" {
			return fmt.Errorf("%s: %w", f.key, ErrEmpty)
		}
	}
	for _, f := range []struct{ key, value string }{
		{"sourceIndexSha256", m.SourceIndexSHA256}, {"processorConfigSha256", m.ProcessorConfigSHA256},
		{"compatibleTextManifestSha256", m.TextManifestSHA256},
	} {
		if !gturbo.ValidSHA256(f.value) {
			return fmt.Errorf("%s %q: %w", f.key, f.value, ErrDigest)
		}
	}
	if err := m.checkFiles(); err != nil {
		return err
	}
	return m.checkTensors()
}

func (m *Manifest) checkFiles() error {
	_, weights := m.Files[WeightsFile]
	_, processor := m.Files[ProcessorFile]
	if !weights || !processor || len(m.Files) != 2 {
		return fmt.Errorf("files: %d entries: %w", len(m.Files), ErrFiles)
	}
	for _, name := range []string{WeightsFile, ProcessorFile} {
		if record := m.Files[name]; !gturbo.ValidSHA256(record.SHA256) {
			return fmt.Errorf("files: %s: sha256 %q: %w", name, record.SHA256, ErrDigest)
		}
	}
	return nil
}

func (m *Manifest) checkTensors() error {
	if len(m.Tensors) == 0 {
		return fmt.Errorf("tensors: %w", ErrNoTensors)
	}
	names := make(map[string]bool, len(m.Tensors))
	end := uint64(0)
	for i := range m.Tensors {
		t := &m.Tensors[i]
		if t.Name == "" || strings.IndexByte(t.Name, 0) >= 0 || names[t.Name] {
			return fmt.Errorf("tensor %d: %q: %w", i, t.Name, ErrName)
		}
		names[t.Name] = true
		if err := t.check(i, end, m.Files[WeightsFile].Size); err != nil {
			return fmt.Errorf("tensor %d: %s: %w", i, t.Name, err)
		}
		end = t.Offset + t.Size
	}
	return nil
}

// check holds one tensor to the format: end is where the previous one ends, limit the size of the file.
func (t *Tensor) check(index int, end, limit uint64) error {
	switch {
	case t.ExecutionPosition != index:
		return fmt.Errorf("executionPosition %d: %w", t.ExecutionPosition, ErrPosition)
	case t.File != WeightsFile:
		return fmt.Errorf("file %q, want %q: %w", t.File, WeightsFile, ErrFile)
	case t.Offset%gturbo.Align != 0:
		return fmt.Errorf("offset %d, want a multiple of %d: %w", t.Offset, gturbo.Align, ErrAlign)
	case t.Offset < end:
		return fmt.Errorf("offset %d, the previous tensor ends at %d: %w", t.Offset, end, ErrOverlap)
	case t.DType != U32 && t.DType != BF16:
		return fmt.Errorf("dtype %q: %w", t.DType, ErrDType)
	case (t.DType == U32) != (t.Quantization != nil):
		return fmt.Errorf("dtype %s, quantization %v: %w", t.DType, t.Quantization, ErrQuant)
	case t.Quantization != nil && *t.Quantization != Packed:
		return fmt.Errorf("quantization %+v: %w", *t.Quantization, ErrQuant)
	}
	want, ok := t.shapeSize()
	switch {
	case len(t.Shape) == 0 || want == 0:
		return fmt.Errorf("shape %v: %w", t.Shape, ErrShape)
	case !ok || want != t.Size:
		return fmt.Errorf("%d bytes, shape %v of %s: %w", t.Size, t.Shape, t.DType, ErrTensorSize)
	case t.Offset > math.MaxInt64 || t.Size > math.MaxInt64-t.Offset || t.Offset+t.Size > limit:
		return fmt.Errorf("[%d, +%d) of %d bytes: %w", t.Offset, t.Size, limit, ErrRange)
	}
	return nil
}

// shapeSize returns the bytes that the shape takes; 0 when a dimension is zero, ok is false on overflow.
func (t *Tensor) shapeSize() (size uint64, ok bool) {
	size = 2
	if t.DType == U32 {
		size = 4
	}
	for _, d := range t.Shape {
		if d == 0 {
			return 0, true
		}
	}
	for _, d := range t.Shape {
		high, low := bits.Mul64(size, d)
		if high != 0 {
			return math.MaxUint64, false
		}
		size = low
	}
	return size, true
}
