package gturbo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Receipt is verified-install.json: what the last tool that hashed the whole install found, and where. A loader that
// trusts it need not hash the expert files again.
type Receipt struct {
	SchemaVersion  int    `json:"schemaVersion"`
	ManifestSHA256 string `json:"manifestSha256"`
	// ModelDirectoryPath is the standardised path that the tool was given, symbolic links unresolved: the receipt is
	// valid only through that path.
	ModelDirectoryPath    string                `json:"modelDirectoryPath"`
	SourceRepoID          string                `json:"sourceRepoID,omitempty"`
	SourceRevision        string                `json:"sourceRevision,omitempty"`
	VerificationTimestamp string                `json:"verificationTimestamp"` // UTC, RFC 3339, whole seconds
	ToolVersion           string                `json:"toolVersion"`
	Files                 map[string]FileRecord `json:"files"` // the manifest's files and the manifest itself
}

// ReceiptSchema is the schema version that this package reads and writes.
const ReceiptSchema = 1

var receiptKeys = strictjson.Keys{
	Required: []string{
		"schemaVersion", "manifestSha256", "modelDirectoryPath", "verificationTimestamp", "toolVersion", "files",
	},
	Optional: []string{"sourceRepoID", "sourceRevision"},
}

// NewReceipt vouches for every file of the manifest m, whose encoded form is manifest, in the install at the
// standardised path. The source is left for the caller to fill in.
func NewReceipt(m *Manifest, manifest []byte, path, tool string, now time.Time) *Receipt {
	digest := SHA256(manifest)
	files := maps.Clone(m.Files)
	if files == nil {
		files = map[string]FileRecord{}
	}
	files[ManifestFile] = FileRecord{Size: uint64(len(manifest)), SHA256: digest}
	return &Receipt{
		SchemaVersion:         ReceiptSchema,
		ManifestSHA256:        digest,
		ModelDirectoryPath:    path,
		VerificationTimestamp: now.UTC().Format("2006-01-02T15:04:05Z"),
		ToolVersion:           tool,
		Files:                 files,
	}
}

// DecodeReceipt reads verified-install.json. It checks the form only; CheckBinding and CheckFiles say whether the
// receipt vouches for an install. Errors wrap ErrReceipt.
func DecodeReceipt(data []byte) (*Receipt, error) {
	if len(data) > MaxReceiptSize {
		return nil, receiptError(capped(ReceiptFile, len(data), MaxReceiptSize))
	}
	c := &Receipt{}
	err := strictjson.Parse(data, func(r *strictjson.Reader) error {
		return r.Object(receiptKeys, func(key string) error { return c.read(r, key) })
	})
	if err != nil {
		return nil, receiptError(fmt.Errorf("%s: %w", ReceiptFile, err))
	}
	return c, nil
}

// Encode writes c in canonical form.
func (c *Receipt) Encode() ([]byte, error) {
	data, err := EncodeCanonical(c)
	if err == nil && len(data) > MaxReceiptSize {
		err = capped(ReceiptFile, len(data), MaxReceiptSize)
	}
	if err != nil {
		return nil, receiptError(err)
	}
	return data, nil
}

func (c *Receipt) read(r *strictjson.Reader, key string) error {
	switch key {
	case "schemaVersion":
		return r.Int(&c.SchemaVersion)
	case "manifestSha256":
		return r.String(&c.ManifestSHA256)
	case "modelDirectoryPath":
		return r.String(&c.ModelDirectoryPath)
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

// CheckBinding reports whether c was made for the manifest with the given digest at the standardised path. It needs
// no decoded manifest, so it can be asked before the manifest is trusted. Errors wrap ErrReceipt.
func (c *Receipt) CheckBinding(manifestSHA256, path string) error {
	switch {
	case c.SchemaVersion != ReceiptSchema:
		return fmt.Errorf("%s: schemaVersion %d, want %d: %w",
			ReceiptFile, c.SchemaVersion, ReceiptSchema, ErrReceiptSchema)
	case !EqualSHA256(c.ManifestSHA256, manifestSHA256):
		return fmt.Errorf("%s: made for manifest %s, found %s: %w",
			ReceiptFile, c.ManifestSHA256, manifestSHA256, ErrReceiptManifest)
	case c.ModelDirectoryPath != path:
		return fmt.Errorf("%s: made for %q, opened as %q: %w", ReceiptFile, c.ModelDirectoryPath, path, ErrReceiptPath)
	}
	return nil
}

// CheckFiles reports whether c vouches for exactly the files of m, whose encoded form has the given record. Errors
// wrap ErrReceipt.
func (c *Receipt) CheckFiles(m *Manifest, manifest FileRecord) error {
	var missing, extra []string
	for path := range m.Files {
		if _, ok := c.Files[path]; !ok {
			missing = append(missing, path)
		}
	}
	if _, ok := c.Files[ManifestFile]; !ok {
		missing = append(missing, ManifestFile)
	}
	for path := range c.Files {
		if _, ok := m.Files[path]; !ok && path != ManifestFile {
			extra = append(extra, path)
		}
	}
	if len(missing)+len(extra) > 0 {
		slices.Sort(missing)
		slices.Sort(extra)
		return fmt.Errorf("%s: missing [%s], unexpected [%s]: %w",
			ReceiptFile, strings.Join(missing, " "), strings.Join(extra, " "), ErrReceiptFiles)
	}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		want := manifest
		if path != ManifestFile {
			want = m.Files[path]
		}
		if got := c.Files[path]; !got.Equal(want) {
			return fmt.Errorf("%s: %s: %d bytes %s, manifest says %d bytes %s: %w",
				ReceiptFile, path, got.Size, got.SHA256, want.Size, want.SHA256, ErrReceiptRecord)
		}
	}
	return nil
}

// receiptError puts a failure of reading or writing a receipt into the class that all of them belong to.
func receiptError(err error) error {
	if errors.Is(err, ErrReceipt) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrReceipt, err)
}
