// Package visionpack owns <stem>.vision.gturbo, the image companion of a .gturbo text model: four files that hold the
// weights of the image tower and are bound to one text model by the digest of its manifest. It reads, checks and
// canonically writes manifest and receipt, opens a pack for the runtime (Open), checks every byte of one (Verify), and
// maps the tower's weights group by group.
//
// It refuses to know what the tensors are multiplied with (package vision and the backends), what a picture is, and
// where the bytes came from (gturbo/install). Without a pack nothing of a text model changes.
//
// Start reading at Open, then Manifest and Tower.
package visionpack

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
)

// The names in a pack: these four and no others.
const (
	ManifestFile  = gturbo.ManifestFile
	ReceiptFile   = gturbo.ReceiptFile
	ProcessorFile = "processor_config.json"
	WeightsFile   = "vision_weights.bin"
)

// Fixed values of manifest and receipt.
const (
	Magic         = "GTURBO-VISION"
	Kind          = "gemma4_vision_companion"
	VersionMajor  = 1
	VersionMinor  = 0
	ReceiptSchema = 1
)

// Size caps in bytes, inclusive, compared with the size of a file before any of it is read.
const (
	MaxManifestSize  = 4 << 20
	MaxReceiptSize   = 4 << 20
	MaxProcessorSize = 4 << 20
)

// Path returns where the pack of the text model at dir is looked for: <stem>.vision.gturbo beside <stem>.gturbo. A
// name of another form wraps ErrTextPath.
func Path(dir string) (string, error) {
	dir = filepath.Clean(dir)
	stem, ok := strings.CutSuffix(filepath.Base(dir), ".gturbo")
	if !ok || stem == "" {
		return "", fmt.Errorf("%s is not named <stem>.gturbo, which the image pack's name is made from: %w", dir, ErrTextPath)
	}
	return filepath.Join(filepath.Dir(dir), stem+".vision.gturbo"), nil
}

// sidecar reports whether an operating system may have left a file of that name in any directory.
func sidecar(name string) bool {
	if name == ".DS_Store" || strings.HasSuffix(name, ".icloud") {
		return true
	}
	for _, prefix := range []string{"._", ".Spotlight-", ".fseventsd", ".TemporaryItems"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
