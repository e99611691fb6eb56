package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// checkpointCap bounds the checkpoint file, inclusive.
const checkpointCap = 8 << 20

// checkpoint is what an unfinished install remembers. A range is in it only after its bytes are durable and its
// digest was taken from the destination. The first eight keys are the reference's; its reader ignores the others.
type checkpoint struct {
	RepoID            string
	RequestedRevision string
	ResolvedCommit    string
	SourceIndexSHA256 string
	PlanFingerprint   string
	TotalSourceBytes  int64
	Completed         []completedRange

	// SideFiles are the small files already fetched, by path below the install.
	SideFiles map[string]gturbo.FileRecord
	// SealedManifest is the hash of manifest.json once everything but the rename into place is done, else empty.
	SealedManifest string
}

// completedRange is one range that is on disk.
type completedRange struct {
	DestinationBytes int64  `json:"destinationBytes"`
	Digest           string `json:"destinationDigest"`
	ID               string `json:"id"`
	SourceBytes      int64  `json:"sourceBytes"`
}

const checkpointSchema = 1

// encode writes compact JSON with sorted keys and ranges sorted by id.
func (c *checkpoint) encode() []byte {
	completed := append([]completedRange{}, c.Completed...)
	slices.SortFunc(completed, func(a, b completedRange) int { return strings.Compare(a.ID, b.ID) })
	members := map[string]any{
		"schema":            checkpointSchema,
		"repoID":            c.RepoID,
		"requestedRevision": c.RequestedRevision,
		"resolvedCommit":    c.ResolvedCommit,
		"sourceIndexSHA256": c.SourceIndexSHA256,
		"planFingerprint":   c.PlanFingerprint,
		"totalSourceBytes":  c.TotalSourceBytes,
		"completedRanges":   completed,
	}
	if len(c.SideFiles) > 0 {
		members["sideFiles"] = c.SideFiles
	}
	if c.SealedManifest != "" {
		members["sealedManifest"] = c.SealedManifest
	}
	data, err := json.Marshal(members)
	if err != nil {
		panic("BUG: checkpoint does not encode: " + err.Error())
	}
	return data
}

var (
	checkpointKeys = strictjson.Keys{
		Required: []string{"schema", "repoID", "requestedRevision", "resolvedCommit", "sourceIndexSHA256",
			"planFingerprint", "totalSourceBytes", "completedRanges"},
		Optional: []string{"sideFiles", "sealedManifest"},
	}
	completedKeys = strictjson.Keys{
		Required: []string{"id", "destinationDigest", "sourceBytes", "destinationBytes"},
	}
	recordKeys = strictjson.Keys{Required: []string{"size", "sha256"}}
)

// parseCheckpoint decodes and checks a checkpoint file. Errors wrap ErrStateCorrupt.
func parseCheckpoint(raw []byte) (*checkpoint, error) {
	if len(raw) > checkpointCap {
		return nil, fmt.Errorf("%w: checkpoint of %d bytes exceeds the cap of %d", ErrStateCorrupt, len(raw), checkpointCap)
	}
	c := &checkpoint{}
	schema := 0
	err := strictjson.Parse(raw, func(r *strictjson.Reader) error {
		return r.Object(checkpointKeys, func(key string) error {
			switch key {
			case "schema":
				return r.Int(&schema)
			case "repoID":
				return r.String(&c.RepoID)
			case "requestedRevision":
				return r.String(&c.RequestedRevision)
			case "resolvedCommit":
				return r.String(&c.ResolvedCommit)
			case "sourceIndexSHA256":
				return r.String(&c.SourceIndexSHA256)
			case "planFingerprint":
				return r.String(&c.PlanFingerprint)
			case "totalSourceBytes":
				return r.Int64(&c.TotalSourceBytes)
			case "completedRanges":
				return r.Array(func(int) error { return c.readCompleted(r) })
			case "sideFiles":
				return c.readSideFiles(r)
			default:
				return r.String(&c.SealedManifest)
			}
		})
	})
	if err == nil && schema != checkpointSchema {
		err = fmt.Errorf("schema %d, expected %d", schema, checkpointSchema)
	}
	if err == nil {
		err = c.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: checkpoint: %w", ErrStateCorrupt, err)
	}
	return c, nil
}

func (c *checkpoint) readCompleted(r *strictjson.Reader) error {
	var done completedRange
	err := r.Object(completedKeys, func(key string) error {
		switch key {
		case "id":
			return r.String(&done.ID)
		case "destinationDigest":
			return r.String(&done.Digest)
		case "sourceBytes":
			return r.Int64(&done.SourceBytes)
		default:
			return r.Int64(&done.DestinationBytes)
		}
	})
	c.Completed = append(c.Completed, done)
	return err
}

func (c *checkpoint) readSideFiles(r *strictjson.Reader) error {
	c.SideFiles = map[string]gturbo.FileRecord{}
	return r.Map(func(path string) error {
		var record gturbo.FileRecord
		err := r.Object(recordKeys, func(key string) error {
			if key == "size" {
				return r.Uint64(&record.Size)
			}
			return r.String(&record.SHA256)
		})
		c.SideFiles[path] = record
		return err
	})
}

// validate holds the rules of the format that are about more than types.
func (c *checkpoint) validate() error {
	switch {
	case c.RepoID == "" || c.RequestedRevision == "":
		return errors.New("empty repository or revision")
	case len(c.ResolvedCommit) != 40:
		return fmt.Errorf("commit of %d characters, expected 40", len(c.ResolvedCommit))
	case len(c.SourceIndexSHA256) != 64 || len(c.PlanFingerprint) != 64:
		return errors.New("a hash that is not 64 characters long")
	case c.TotalSourceBytes <= 0:
		return fmt.Errorf("total of %d source bytes", c.TotalSourceBytes)
	}
	seen := map[string]bool{}
	var source, destination int64
	for _, done := range c.Completed {
		switch {
		case done.ID == "" || seen[done.ID]:
			return fmt.Errorf("range id %q is empty or repeated", done.ID)
		case len(done.Digest) != 64:
			return fmt.Errorf("%s: digest of %d characters, expected 64", done.ID, len(done.Digest))
		case done.SourceBytes <= 0 || done.SourceBytes > c.TotalSourceBytes-source:
			return fmt.Errorf("%s: %d source bytes do not fit the total", done.ID, done.SourceBytes)
		case done.DestinationBytes <= 0 || done.DestinationBytes > math.MaxInt64-destination:
			return fmt.Errorf("%s: %d destination bytes", done.ID, done.DestinationBytes)
		}
		seen[done.ID] = true
		source += done.SourceBytes
		destination += done.DestinationBytes
	}
	return nil
}

// loadCheckpoint reads the checkpoint file at name; none at all gives nil.
func loadCheckpoint(fsys FS, name string) (*checkpoint, error) {
	raw, err := readSmall(fsys, name, checkpointCap)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", ErrStateCorrupt, err)
	case err != nil:
		return nil, err
	}
	return parseCheckpoint(raw)
}
