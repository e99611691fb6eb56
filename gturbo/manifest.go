package gturbo

import (
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Manifest is manifest.json. Its presence marks an install as complete.
type Manifest struct {
	Magic        string          `json:"magic"`
	VersionMajor int             `json:"versionMajor"`
	VersionMinor int             `json:"versionMinor"`
	Flags        map[string]bool `json:"flags"`
	ModelID      string          `json:"modelID"`
	// SourceSnapshotHash identifies the checkpoint, "sha256:" and the digest of its index; empty when not recorded.
	SourceSnapshotHash string `json:"sourceSnapshotHash,omitempty"`
	Arch               Arch   `json:"arch"`
	// Quant may be nil in the document; the runtime refuses that.
	Quant *Quant `json:"quant,omitempty"`
	// Files maps relative paths to what they must hold.
	Files           map[string]FileRecord `json:"files"`
	ExpertsPerLayer int                   `json:"expertsPerLayer"`
	NumLayers       int                   `json:"numLayers"`
	// ExpertStride is the bytes from one expert to the next in a layer file, a multiple of Align.
	ExpertStride uint64 `json:"expertStride"`
	// BitWidthOverridesHonored counts the per-tensor bit widths in the source's configuration. Nothing reads it.
	BitWidthOverridesHonored *int `json:"bitWidthOverridesHonored,omitempty"`
}

// FileRecord says what a file must hold.
type FileRecord struct {
	Size   uint64 `json:"size"`
	SHA256 string `json:"sha256"` // 64 hex digits; written in lower case, compared without regard to case
}

// Equal reports whether both records promise the same bytes.
func (r FileRecord) Equal(other FileRecord) bool {
	return r.Size == other.Size && EqualSHA256(r.SHA256, other.SHA256)
}

// The values of Manifest's fixed fields, and its flags. FlagTurboQuantKV must not be set: no version of this program
// reads a quantized KV cache.
const (
	Magic               = "GTURBO"
	VersionMajor        = 1
	VersionMinor        = 0
	FlagStreaming       = "streamingPresent"
	FlagTurboQuantKV    = "turboQuantKV"
	FlagANESharedExpert = "aneSharedExpert"
)

// NewFlags returns the flags as writers of the format emit them.
func NewFlags() map[string]bool {
	return map[string]bool{FlagStreaming: true, FlagTurboQuantKV: false, FlagANESharedExpert: false}
}

var manifestKeys = strictjson.Keys{
	Required: []string{
		"magic", "versionMajor", "versionMinor", "flags", "modelID", "arch", "files",
		"expertsPerLayer", "numLayers", "expertStride",
	},
	Optional: []string{"sourceSnapshotHash", "quant", "bitWidthOverridesHonored"},
}

// DecodeManifest reads and checks manifest.json. Errors wrap ErrNotGTurbo, ErrVersion, ErrFlag, ErrStride,
// ErrMetadataCap or ErrCorrupt, and the rule that was broken.
func DecodeManifest(data []byte) (*Manifest, error) {
	if len(data) > MaxManifestSize {
		return nil, capped(ManifestFile, len(data), MaxManifestSize)
	}
	m := &Manifest{}
	err := strictjson.Parse(data, func(r *strictjson.Reader) error {
		return r.Object(manifestKeys, func(key string) error { return m.read(r, key) })
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", ManifestFile, ErrCorrupt, err)
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	return m, nil
}

// Encode checks m and writes it in canonical form.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("encode %s: %w", ManifestFile, err)
	}
	data, err := EncodeCanonical(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", ManifestFile, err)
	}
	if len(data) > MaxManifestSize {
		return nil, capped(ManifestFile, len(data), MaxManifestSize)
	}
	return data, nil
}

func capped(name string, size, limit int) error {
	return fmt.Errorf("%s: %d bytes, metadata cap %d: %w", name, size, limit, ErrMetadataCap)
}

func (m *Manifest) read(r *strictjson.Reader, key string) error {
	switch key {
	case "magic":
		return r.String(&m.Magic)
	case "versionMajor":
		return r.Int(&m.VersionMajor)
	case "versionMinor":
		return r.Int(&m.VersionMinor)
	case "flags":
		m.Flags = map[string]bool{}
		return r.Map(func(flag string) error {
			var set bool
			err := r.Bool(&set)
			m.Flags[flag] = set
			return err
		})
	case "modelID":
		return r.String(&m.ModelID)
	case "sourceSnapshotHash":
		return r.String(&m.SourceSnapshotHash)
	case "arch":
		return m.Arch.decode(r)
	case "quant":
		m.Quant = &Quant{}
		return m.Quant.decode(r)
	case "files":
		return readFiles(r, &m.Files)
	case "expertsPerLayer":
		return r.Int(&m.ExpertsPerLayer)
	case "numLayers":
		return r.Int(&m.NumLayers)
	case "expertStride":
		return r.Uint64(&m.ExpertStride)
	default:
		m.BitWidthOverridesHonored = new(int)
		return r.Int(m.BitWidthOverridesHonored)
	}
}

var fileRecordKeys = strictjson.Keys{Required: []string{"size", "sha256"}}

func readFiles(r *strictjson.Reader, files *map[string]FileRecord) error {
	*files = map[string]FileRecord{}
	return r.Map(func(path string) error {
		var record FileRecord
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
