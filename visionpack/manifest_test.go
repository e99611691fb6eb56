package visionpack

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

func TestManifestSurvivesARoundTrip(t *testing.T) {
	m, _ := tinyPack(tinyTower())
	first, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := DecodeManifest(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := decoded.Encode()
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("encodes differently the second time: %v", err)
	}
	future := bytes.Replace(first, []byte("{\n"), []byte("{\n  \"family\" : {\"x\" : [null]},\n"), 1)
	if _, err := DecodeManifest(future); err != nil {
		t.Errorf("an unknown key: %v", err)
	}
}

// Each rule is broken alone; Encode refuses what Decode refuses.
func TestManifestRulesAreHeldOnBothWays(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(m *Manifest)
		want  error
	}{
		{"text magic", func(m *Manifest) { m.Magic = gturbo.Magic }, ErrMagic},
		{"another companion", func(m *Manifest) { m.ArtifactKind = "gemma4_audio_companion" }, ErrKind},
		{"next major version", func(m *Manifest) { m.VersionMajor = 2 }, ErrVersion},
		{"next minor version", func(m *Manifest) { m.VersionMinor = 1 }, ErrVersion},
		{"no model id", func(m *Manifest) { m.ModelID = "" }, ErrEmpty},
		{"no revision", func(m *Manifest) { m.SourceRevision = "" }, ErrEmpty},
		{"no text snapshot", func(m *Manifest) { m.TextSnapshotHash = "" }, ErrEmpty},
		{"index digest with a prefix", func(m *Manifest) {
			m.SourceIndexSHA256 = "sha256:" + m.SourceIndexSHA256
		}, ErrDigest},
		{"short processor digest", func(m *Manifest) { m.ProcessorConfigSHA256 = "abc" }, ErrDigest},
		{"text digest that is no hex", func(m *Manifest) { m.TextManifestSHA256 = strings.Repeat("g", 64) }, ErrDigest},
		{"three files", func(m *Manifest) { m.Files["x"] = m.Files[WeightsFile] }, ErrFiles},
		{"no processor file", func(m *Manifest) { delete(m.Files, ProcessorFile) }, ErrFiles},
		{"another file instead", func(m *Manifest) {
			m.Files["x"] = m.Files[WeightsFile]
			delete(m.Files, WeightsFile)
		}, ErrFiles},
		{"file digest", func(m *Manifest) { m.Files[WeightsFile] = gturbo.FileRecord{Size: 1 << 40} }, ErrDigest},
		{"no tensors", func(m *Manifest) { m.Tensors = nil }, ErrNoTensors},
		{"empty name", func(m *Manifest) { m.Tensors[1].Name = "" }, ErrName},
		{"NUL in a name", func(m *Manifest) { m.Tensors[1].Name = "a\x00b" }, ErrName},
		{"name used twice", func(m *Manifest) { m.Tensors[1].Name = m.Tensors[0].Name }, ErrName},
		{"reordered position", func(m *Manifest) { m.Tensors[0].ExecutionPosition = 1 }, ErrPosition},
		{"another file", func(m *Manifest) { m.Tensors[0].File = ProcessorFile }, ErrFile},
		{"misaligned offset", func(m *Manifest) { m.Tensors[1].Offset += 2 }, ErrAlign},
		{"overlap", func(m *Manifest) { m.Tensors[1].Offset = m.Tensors[0].Offset }, ErrOverlap},
		{"upper-case dtype", func(m *Manifest) { m.Tensors[0].DType = "BF16" }, ErrDType},
		{"u32 without quantization", func(m *Manifest) { m.Tensors[len(m.Tensors)-1].Quantization = nil }, ErrQuant},
		{"bf16 with quantization", func(m *Manifest) { m.Tensors[0].Quantization = &Packed }, ErrQuant},
		{"8 bits", func(m *Manifest) { m.Tensors[len(m.Tensors)-1].Quantization.WeightBits = 8 }, ErrQuant},
		{"another scheme", func(m *Manifest) { m.Tensors[len(m.Tensors)-1].Quantization.Scheme = "Affine" }, ErrQuant},
		{"another scale type", func(m *Manifest) { m.Tensors[len(m.Tensors)-1].Quantization.ScaleType = "f16" }, ErrQuant},
		{"another bias type", func(m *Manifest) { m.Tensors[len(m.Tensors)-1].Quantization.BiasType = "f16" }, ErrQuant},
		{"another group", func(m *Manifest) { m.Tensors[len(m.Tensors)-1].Quantization.GroupSize = 32 }, ErrQuant},
		{"no shape", func(m *Manifest) { m.Tensors[0].Shape = nil }, ErrShape},
		{"zero dimension", func(m *Manifest) { m.Tensors[0].Shape[0] = 0 }, ErrShape},
		{"wrong size", func(m *Manifest) { m.Tensors[0].Size-- }, ErrTensorSize},
		{"shape that overflows", func(m *Manifest) {
			m.Tensors[0].Shape, m.Tensors[0].Size = []uint64{1 << 33, 1 << 33}, 1<<63-2
		}, ErrTensorSize},
		{"beyond the file", func(m *Manifest) {
			m.Files[WeightsFile] = gturbo.FileRecord{Size: m.Files[WeightsFile].Size - 1, SHA256: m.Files[WeightsFile].SHA256}
		}, ErrRange},
		{"beyond every file", func(m *Manifest) {
			last := &m.Tensors[len(m.Tensors)-1]
			last.Offset = math.MaxUint64 - gturbo.Align + 1
			m.Files[WeightsFile] = gturbo.FileRecord{Size: math.MaxUint64, SHA256: m.Files[WeightsFile].SHA256}
		}, ErrRange},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := tinyPack(tinyTower())
			c.spoil(m)
			if _, err := m.Encode(); !errors.Is(err, c.want) || !errors.Is(err, ErrMetadata) {
				t.Errorf("encode: got %v, want %v", err, c.want)
			}
			data, err := gturbo.EncodeCanonical(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DecodeManifest(data); !errors.Is(err, c.want) || !errors.Is(err, ErrMetadata) {
				t.Errorf("decode: got %v, want %v", err, c.want)
			}
		})
	}
}

func TestWeightsMayBeLongerThanTheLastTensor(t *testing.T) {
	m, _ := tinyPack(tinyTower())
	m.Files[WeightsFile] = gturbo.FileRecord{Size: m.Files[WeightsFile].Size + 7, SHA256: m.Files[WeightsFile].SHA256}
	if _, err := m.Encode(); err != nil {
		t.Error(err)
	}
}

func TestDocumentsNeedEveryKey(t *testing.T) {
	m, _ := tinyPack(tinyTower())
	manifest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := NewReceipt(m, manifest, "/m/tiny.vision.gturbo", "test").Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range manifestKeys.Required {
		data := bytes.Replace(manifest, []byte(`"`+key+`" :`), []byte(`"other" :`), 1)
		if _, err := DecodeManifest(data); !errors.Is(err, ErrMetadata) {
			t.Errorf("manifest without %s: %v", key, err)
		}
	}
	for _, key := range tensorKeys.Required {
		data := bytes.Replace(manifest, []byte(`      "`+key+`" :`), []byte(`      "other" :`), 1)
		if _, err := DecodeManifest(data); !errors.Is(err, ErrMetadata) {
			t.Errorf("tensor without %s: %v", key, err)
		}
	}
	for _, key := range receiptKeys.Required {
		data := bytes.Replace(receipt, []byte(`"`+key+`" :`), []byte(`"other" :`), 1)
		if _, err := DecodeReceipt(data); !errors.Is(err, ErrReceipt) {
			t.Errorf("receipt without %s: %v", key, err)
		}
	}
}

func TestReceiptsOfEqualPacksAreEqual(t *testing.T) {
	m, _ := tinyPack(tinyTower())
	manifest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var receipts [2][]byte
	for i := range receipts {
		if receipts[i], err = NewReceipt(m, manifest, "/m/tiny.vision.gturbo", "test").Encode(); err != nil {
			t.Fatal(err)
		}
	}
	noTime := []byte("source-revision:" + m.SourceRevision)
	if !bytes.Equal(receipts[0], receipts[1]) || !bytes.Contains(receipts[0], noTime) {
		t.Errorf("receipts differ, or hold a time: %s", receipts[0])
	}
	if len(m.Files) != 2 {
		t.Errorf("the manifest's files were changed: %v", maps.Keys(m.Files))
	}
}

// The pinned pack's numbers, from its shapes alone.
func TestPinnedTowerIsTheDocumentedOne(t *testing.T) {
	source, err := gturbo.ParseSourceConfig(pinnedConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	tower, err := ParseTower(source.Vision.Config, source.Arch.HiddenSize)
	if err != nil {
		t.Fatal(err)
	}
	tensors, payload, offset := 0, uint64(0), uint64(0)
	for _, group := range tower.groups() {
		for _, w := range group {
			x := Tensor{Shape: w.shape, DType: w.dtype}
			size, _ := x.shapeSize()
			offset, _ = gturbo.AlignUp(offset)
			offset += size
			payload += size
			tensors++
		}
	}
	if tensors != 358 || payload != 1_140_925_536 || offset != 1_144_373_248 {
		t.Errorf("%d tensors of %d bytes in %d, want 358, 1140925536, 1144373248", tensors, payload, offset)
	}
}
