package visionpack

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Receipt is verified-install.json of a pack: what the last tool that hashed it found, and where. Open takes its word
// for the weights instead of hashing more than a gigabyte.
type Receipt struct {
	SchemaVersion  int    `json:"schemaVersion"`
	ArtifactKind   string `json:"artifactKind"`
	ManifestSHA256 string `json:"manifestSha256"`
	// CompanionDirectoryPath is the pack's place: the physical parent and the name.
	CompanionDirectoryPath string `json:"companionDirectoryPath"`
	TextManifestSHA256     string `json:"compatibleTextManifestSha256"`
	SourceRepoID           string `json:"sourceRepoID"`
	SourceRevision         string `json:"sourceRevision"`
	// VerificationTimestamp is no time but the source's revision, so that equal packs have equal receipts.
	VerificationTimestamp string                       `json:"verificationTimestamp"`
	ToolVersion           string                       `json:"toolVersion"`
	Files                 map[string]gturbo.FileRecord `json:"files"` // the manifest's files and the manifest itself
}

// NewReceipt vouches for the pack at path (its physical parent and name) whose manifest is m, encoded as manifest.
func NewReceipt(m *Manifest, manifest []byte, path, tool string) *Receipt {
	digest := gturbo.SHA256(manifest)
	files := maps.Clone(m.Files)
	files[ManifestFile] = gturbo.FileRecord{Size: uint64(len(manifest)), SHA256: digest}
	return &Receipt{
		SchemaVersion: ReceiptSchema, ArtifactKind: Kind, ManifestSHA256: digest, CompanionDirectoryPath: path,
		TextManifestSHA256: m.TextManifestSHA256, SourceRepoID: m.ModelID, SourceRevision: m.SourceRevision,
		VerificationTimestamp: "source-revision:" + m.SourceRevision, ToolVersion: tool, Files: files,
	}
}

var receiptKeys = strictjson.Keys{Required: []string{
	"schemaVersion", "artifactKind", "manifestSha256", "companionDirectoryPath", "compatibleTextManifestSha256",
	"sourceRepoID", "sourceRevision", "verificationTimestamp", "toolVersion", "files",
}}

// DecodeReceipt reads verified-install.json and checks its form; CheckBinding says whether it vouches for a pack.
// Errors wrap ErrReceipt.
func DecodeReceipt(data []byte) (*Receipt, error) {
	if len(data) > MaxReceiptSize {
		return nil, fmt.Errorf("%s: %d bytes, at most %d: %w", ReceiptFile, len(data), MaxReceiptSize, ErrReceiptSyntax)
	}
	c := &Receipt{}
	err := strictjson.Parse(data, func(r *strictjson.Reader) error {
		return r.Object(receiptKeys, func(key string) error { return c.read(r, key) })
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", ReceiptFile, ErrReceiptSyntax, err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ReceiptFile, err)
	}
	return c, nil
}

// Encode checks c and writes it in canonical form.
func (c *Receipt) Encode() ([]byte, error) {
	err := c.check()
	var data []byte
	if err == nil {
		data, err = gturbo.EncodeCanonical(c)
	}
	if err == nil && len(data) > MaxReceiptSize {
		err = fmt.Errorf("%d bytes, at most %d: %w", len(data), MaxReceiptSize, ErrReceiptSyntax)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", ReceiptFile, err)
	}
	return data, nil
}

func (c *Receipt) read(r *strictjson.Reader, key string) error {
	switch key {
	case "schemaVersion":
		return r.Int(&c.SchemaVersion)
	case "artifactKind":
		return r.String(&c.ArtifactKind)
	case "manifestSha256":
		return r.String(&c.ManifestSHA256)
	case "companionDirectoryPath":
		return r.String(&c.CompanionDirectoryPath)
	case "compatibleTextManifestSha256":
		return r.String(&c.TextManifestSHA256)
	case "sourceRepoID":
		return r.String(&c.SourceRepoID)
	case "sourceRevision":
		return r.String(&c.SourceRevision)
	case "verificationTimestamp":
		return r.String(&c.VerificationTimestamp)
	case "toolVersion":
		return r.String(&c.ToolVersion)
	default:
		return readFiles(r, &c.Files)
	}
}

func (c *Receipt) check() error {
	if c.SchemaVersion != ReceiptSchema || c.ArtifactKind != Kind {
		return fmt.Errorf("schemaVersion %d of %q, want %d of %q: %w",
			c.SchemaVersion, c.ArtifactKind, ReceiptSchema, Kind, ErrReceiptSchema)
	}
	for _, digest := range []string{c.ManifestSHA256, c.TextManifestSHA256} {
		if !gturbo.ValidSHA256(digest) {
			return fmt.Errorf("digest %q: %w", digest, ErrReceiptSyntax)
		}
	}
	if slices.Contains([]string{
		c.CompanionDirectoryPath, c.SourceRepoID, c.SourceRevision, c.VerificationTimestamp, c.ToolVersion,
	}, "") {
		return fmt.Errorf("empty value: %w", ErrReceiptSyntax)
	}
	for _, name := range []string{ManifestFile, WeightsFile, ProcessorFile} {
		if _, ok := c.Files[name]; !ok || len(c.Files) != 3 {
			return fmt.Errorf("files: %d entries, %s among them: %t: %w", len(c.Files), name, ok, ErrReceiptFiles)
		}
	}
	return nil
}

// CheckBinding reports whether c vouches for the pack at path whose manifest is m, encoded as manifest. Errors wrap
// ErrReceipt.
func (c *Receipt) CheckBinding(m *Manifest, manifest []byte, path string) error {
	digest := gturbo.SHA256(manifest)
	switch {
	case !gturbo.EqualSHA256(c.ManifestSHA256, digest):
		return fmt.Errorf("%s: made for manifest %s, found %s: %w", ReceiptFile, c.ManifestSHA256, digest, ErrReceiptManifest)
	case !gturbo.EqualSHA256(c.TextManifestSHA256, m.TextManifestSHA256):
		return fmt.Errorf("%s: text manifest %s, the pack's manifest says %s: %w",
			ReceiptFile, c.TextManifestSHA256, m.TextManifestSHA256, ErrReceiptText)
	case c.SourceRepoID != m.ModelID || c.SourceRevision != m.SourceRevision:
		return fmt.Errorf("%s: source %s at %s, the manifest says %s at %s: %w",
			ReceiptFile, c.SourceRepoID, c.SourceRevision, m.ModelID, m.SourceRevision, ErrReceiptSource)
	}
	then, now := canonicalPath(c.CompanionDirectoryPath), canonicalPath(path)
	if then != now {
		return fmt.Errorf("%s: made for %q, opened as %q: %w", ReceiptFile, then, now, ErrReceiptPath)
	}
	want := maps.Clone(m.Files)
	want[ManifestFile] = gturbo.FileRecord{Size: uint64(len(manifest)), SHA256: digest}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got := c.Files[name]; !got.Equal(want[name]) {
			return fmt.Errorf("%s: %s: %d bytes %s, the manifest says %d bytes %s: %w",
				ReceiptFile, name, got.Size, got.SHA256, want[name].Size, want[name].SHA256, ErrReceiptRecord)
		}
	}
	return nil
}

// canonicalPath resolves the symbolic links of the parent and keeps the name, so that every alias of the parent gives
// one path. What cannot be resolved stays as it is, and then only equals itself.
func canonicalPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return abs
	}
	return filepath.Join(parent, filepath.Base(abs))
}
