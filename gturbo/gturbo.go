// Package gturbo owns the .gturbo v1 on-disk format: a directory with a manifest, resident weights, packed experts and
// tokenizer files. It reads, checks and canonically writes each document, opens an install for the runtime (Open) and
// verifies one without loading it (Verify). Installer, verifier and loader share these rules, and the image
// companion reuses the plain parts: Root, EncodeCanonical, the SHA-256 helpers and package strictjson.
//
// It refuses to know where bytes come from (gturbo/install), what a tensor is multiplied with (core and its backends)
// and what the tokenizer files say (text). Any dimensions of the model family are accepted.
//
// Start reading at Open, then Manifest, Index and Layout.
package gturbo

// Align is the alignment of the format in bytes. It is a constant of the format, whatever the page size of the host.
const Align = 16384

// The fixed names of an install.
const (
	ManifestFile = "manifest.json"
	ReceiptFile  = "verified-install.json"
	WeightsFile  = "model_weights.bin"
	ExpertsDir   = "packed_experts"
	LayoutFile   = ExpertsDir + "/layout.json"
	TokenizerDir = "tokenizer"
)

// Size caps in bytes, inclusive. They are compared with the size of a file before any of it is read.
const (
	MaxManifestSize = 4 << 20
	MaxReceiptSize  = 4 << 20
	MaxLayoutSize   = 16 << 20
	MaxIndexSize    = 16 << 20
)

// AlignUp rounds n up to a multiple of Align; ok is false when that overflows.
func AlignUp(n uint64) (aligned uint64, ok bool) {
	aligned = (n + Align - 1) / Align * Align
	return aligned, aligned >= n
}
