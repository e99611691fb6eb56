package visionpack

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

// tinyTower has every tensor of the family in a few hundred kilobytes of padding.
func tinyTower() *Tower {
	return &Tower{
		Hidden: 64, Layers: 2, Heads: 4, HeadDim: 16, Width: 24, Patch: 4, Pool: 3, PositionRows: 9,
		RopeTheta: 100, RMSNormEps: 1e-6, TextHidden: 128,
	}
}

const tinyProcessor = `{"image_processor": {"max_soft_tokens": 140, "patch_size": 4, "pooling_kernel_size": 3,
	"resample": 3, "do_resize": true, "do_rescale": true, "do_normalize": false, "rescale_factor": 0.00392156862745098}}`

func tinyText() *TextModel {
	return &TextModel{
		Path: "tiny.gturbo", SnapshotHash: "sha256:" + strings.Repeat("a", 64), ManifestSHA256: strings.Repeat("b", 64),
		Tower: tinyTower(),
	}
}

// tinyPack returns a manifest for the tower, without digests of files, and weights in which the 16-bit words of
// tensor i count up from 1000*i.
func tinyPack(tower *Tower) (*Manifest, []byte) {
	text := tinyText()
	m := &Manifest{
		Magic: Magic, ArtifactKind: Kind, VersionMajor: VersionMajor, VersionMinor: VersionMinor,
		ModelID: "tiny/model", SourceRevision: strings.Repeat("c", 40), SourceIndexSHA256: strings.Repeat("d", 64),
		TextSnapshotHash: text.SnapshotHash, TextManifestSHA256: text.ManifestSHA256,
	}
	var weights []byte
	for _, group := range tower.groups() {
		for _, w := range group {
			aligned, _ := gturbo.AlignUp(uint64(len(weights)))
			weights = append(weights, make([]byte, int(aligned)-len(weights))...)
			t := Tensor{
				Name: w.name, ExecutionPosition: len(m.Tensors), File: WeightsFile, Offset: aligned, DType: w.dtype,
				Shape: w.shape,
			}
			if w.dtype == U32 {
				t.Quantization = &Quantization{4, "affine", "bf16", "bf16", 64}
			}
			t.Size, _ = t.shapeSize()
			for i := range t.Size / 2 {
				weights = binary.LittleEndian.AppendUint16(weights, uint16(1000*len(m.Tensors)+int(i)))
			}
			m.Tensors = append(m.Tensors, t)
		}
	}
	m.record(weights, []byte(tinyProcessor))
	return m, weights
}

// record puts the digests of files into the manifest.
func (m *Manifest) record(weights, processor []byte) {
	m.Files = map[string]gturbo.FileRecord{
		WeightsFile:   {Size: uint64(len(weights)), SHA256: gturbo.SHA256(weights)},
		ProcessorFile: {Size: uint64(len(processor)), SHA256: gturbo.SHA256(processor)},
	}
	m.ProcessorConfigSHA256 = gturbo.SHA256(processor)
}

// writePack writes a pack with a receipt and returns its directory.
func writePack(t testing.TB, m *Manifest, weights, processor []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny.vision.gturbo")
	manifest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := NewReceipt(m, manifest, canonicalPath(dir), "test").Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		ManifestFile: manifest, ReceiptFile: receipt, WeightsFile: weights, ProcessorFile: processor,
	} {
		put(t, dir, name, data)
	}
	return dir
}

func writeTiny(t testing.TB) string {
	t.Helper()
	m, weights := tinyPack(tinyTower())
	return writePack(t, m, weights, []byte(tinyProcessor))
}

func put(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// reseal writes a changed manifest and a receipt that vouches for it.
func reseal(t testing.TB, dir string, change func(*Manifest)) {
	t.Helper()
	m, err := DecodeManifest(get(t, dir, ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	manifest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := NewReceipt(m, manifest, canonicalPath(dir), "test").Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, ManifestFile, manifest)
	put(t, dir, ReceiptFile, receipt)
}

// edit replaces text in one of the pack's documents.
func edit(t testing.TB, dir, name, old, new string) {
	t.Helper()
	data := get(t, dir, name)
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s does not hold %q", name, old)
	}
	put(t, dir, name, bytes.Replace(data, []byte(old), []byte(new), 1))
}
