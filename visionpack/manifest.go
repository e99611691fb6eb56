package visionpack

import (
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Manifest is manifest.json of a pack.
type Manifest struct {
	Magic        string `json:"magic"`
	ArtifactKind string `json:"artifactKind"`
	VersionMajor int    `json:"versionMajor"`
	VersionMinor int    `json:"versionMinor"`

	ModelID               string `json:"modelID"`
	SourceRevision        string `json:"sourceRevision"`
	SourceIndexSHA256     string `json:"sourceIndexSha256"`
	ProcessorConfigSHA256 string `json:"processorConfigSha256"`
	// TextSnapshotHash and TextManifestSHA256 bind the pack to a text model: its sourceSnapshotHash and the digest of
	// its manifest.json as it lies on disk.
	TextSnapshotHash   string `json:"compatibleTextSourceSnapshotHash"`
	TextManifestSHA256 string `json:"compatibleTextManifestSha256"`

	Files   map[string]gturbo.FileRecord `json:"files"`
	Tensors []Tensor                     `json:"tensors"` // in the order in which the tower needs them
}

// Tensor says where a tensor lies. Packed weights have the shape of their 32-bit words.
type Tensor struct {
	Name              string        `json:"name"`
	ExecutionPosition int           `json:"executionPosition"` // its index
	File              string        `json:"file"`
	Offset            uint64        `json:"offset"` // a multiple of gturbo.Align
	Size              uint64        `json:"size"`   // bytes
	Shape             []uint64      `json:"shape"`  // as stored, slowest axis first
	DType             string        `json:"dtype"`
	Quantization      *Quantization `json:"quantization,omitempty"` // of packed weights only
}

// Quantization says what packed words mean. The format has one kind, Packed.
type Quantization struct {
	WeightBits int    `json:"weightBits"`
	Scheme     string `json:"scheme"`
	ScaleType  string `json:"scaleType"`
	BiasType   string `json:"biasType"`
	GroupSize  int    `json:"groupSize"`
}

// Packed is the only Quantization of the format.
var Packed = Quantization{WeightBits: 4, Scheme: "affine", ScaleType: "bf16", BiasType: "bf16", GroupSize: 64}

// The dtypes.
const (
	U32  = "u32"
	BF16 = "bf16"
)

// DecodeManifest reads and checks manifest.json. Errors wrap ErrMetadata and the rule that was broken.
func DecodeManifest(data []byte) (*Manifest, error) {
	if len(data) > MaxManifestSize {
		return nil, fmt.Errorf("%s: %d bytes, at most %d: %w", ManifestFile, len(data), MaxManifestSize, ErrCap)
	}
	m := &Manifest{}
	err := strictjson.Parse(data, func(r *strictjson.Reader) error {
		return r.Object(manifestKeys, func(key string) error { return m.read(r, key) })
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", ManifestFile, ErrSyntax, err)
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	return m, nil
}

// Encode checks m and writes it in canonical form.
func (m *Manifest) Encode() ([]byte, error) {
	err := m.Check()
	var data []byte
	if err == nil {
		data, err = gturbo.EncodeCanonical(m)
	}
	if err == nil && len(data) > MaxManifestSize {
		err = fmt.Errorf("%d bytes, at most %d: %w", len(data), MaxManifestSize, ErrCap)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", ManifestFile, err)
	}
	return data, nil
}

var (
	manifestKeys = strictjson.Keys{Required: []string{
		"magic", "artifactKind", "versionMajor", "versionMinor", "modelID", "sourceRevision", "sourceIndexSha256",
		"processorConfigSha256", "compatibleTextSourceSnapshotHash", "compatibleTextManifestSha256", "files", "tensors",
	}}
	tensorKeys = strictjson.Keys{
		Required: []string{"name", "executionPosition", "file", "offset", "size", "shape", "dtype"},
		Optional: []string{"quantization"},
	}
	quantizationKeys = strictjson.Keys{Required: []string{"weightBits", "scheme", "scaleType", "biasType", "groupSize"}}
	fileRecordKeys   = strictjson.Keys{Required: []string{"size", "sha256"}}
)

func (m *Manifest) read(r *strictjson.Reader, key string) error {
	switch key {
	case "magic":
		return r.String(&m.Magic)
	case "artifactKind":
		return r.String(&m.ArtifactKind)
	case "versionMajor":
		return r.Int(&m.VersionMajor)
	case "versionMinor":
		return r.Int(&m.VersionMinor)
	case "modelID":
		return r.String(&m.ModelID)
	case "sourceRevision":
		return r.String(&m.SourceRevision)
	case "sourceIndexSha256":
		return r.String(&m.SourceIndexSHA256)
	case "processorConfigSha256":
		return r.String(&m.ProcessorConfigSHA256)
	case "compatibleTextSourceSnapshotHash":
		return r.String(&m.TextSnapshotHash)
	case "compatibleTextManifestSha256":
		return r.String(&m.TextManifestSHA256)
	case "files":
		return readFiles(r, &m.Files)
	default:
		return r.Array(func(int) error {
			var t Tensor
			err := r.Object(tensorKeys, func(key string) error { return t.read(r, key) })
			m.Tensors = append(m.Tensors, t)
			return err
		})
	}
}

func (t *Tensor) read(r *strictjson.Reader, key string) error {
	switch key {
	case "name":
		return r.String(&t.Name)
	case "executionPosition":
		return r.Int(&t.ExecutionPosition)
	case "file":
		return r.String(&t.File)
	case "offset":
		return r.Uint64(&t.Offset)
	case "size":
		return r.Uint64(&t.Size)
	case "dtype":
		return r.String(&t.DType)
	case "shape":
		return r.Array(func(int) error {
			var d uint64
			err := r.Uint64(&d)
			t.Shape = append(t.Shape, d)
			return err
		})
	default:
		t.Quantization = &Quantization{}
		return r.Object(quantizationKeys, func(key string) error { return t.Quantization.read(r, key) })
	}
}

func (q *Quantization) read(r *strictjson.Reader, key string) error {
	switch key {
	case "weightBits":
		return r.Int(&q.WeightBits)
	case "scheme":
		return r.String(&q.Scheme)
	case "scaleType":
		return r.String(&q.ScaleType)
	case "biasType":
		return r.String(&q.BiasType)
	default:
		return r.Int(&q.GroupSize)
	}
}

func readFiles(r *strictjson.Reader, files *map[string]gturbo.FileRecord) error {
	*files = map[string]gturbo.FileRecord{}
	return r.Map(func(path string) error {
		var record gturbo.FileRecord
		err := r.Object(fileRecordKeys, func(key string) error {
			if key == "size" {
				return r.Uint64(&record.Size)
			}
			return r.String(&record.SHA256)
		})
		(*files)[path] = record
		return err
	})
}
