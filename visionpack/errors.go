package visionpack

import (
	"errors"
	"fmt"
)

// Every way in which a pack can be refused has its own sentinel. A sentinel wraps the class that it belongs to, so
// that callers may test for the class (ErrReceipt) or for the one rule (ErrReceiptPath). Links, FIFOs and the like in
// a file's place are gturbo.ErrUnsafePath; a pack that is being changed is lease.ErrBusy.

// Classes, and rules that are a class of their own.
var (
	// ErrTextPath: the text model's name is not <stem>.gturbo.
	ErrTextPath = errors.New("invalid text model path")
	// ErrNotFound: there is no pack. It is never said of one that is there and invalid.
	ErrNotFound = errors.New("image pack not found")
	// ErrMetadata: manifest.json is missing or breaks a rule of the format.
	ErrMetadata = errors.New("image pack metadata invalid")
	// ErrIncompatible: the pack was made for another text model.
	ErrIncompatible = errors.New("image pack is of another text model")
	// ErrReceipt: the receipt does not vouch for this pack.
	ErrReceipt = errors.New("image pack receipt invalid")
	// ErrEntries: a file of the four is missing, or another one is there.
	ErrEntries = errors.New("image pack directory entries invalid")
	// ErrSize: a file has another size than the manifest says.
	ErrSize = errors.New("image pack file size mismatch")
	// ErrChecksum: a file's bytes are not those that the manifest promises.
	ErrChecksum = errors.New("image pack checksum mismatch")
	// ErrProcessor: processor_config.json describes a preparation that this program does not do.
	ErrProcessor = errors.New("image processor configuration unusable")
	// ErrTower: the text model's configuration describes an image tower that this program does not run.
	ErrTower = errors.New("unsupported image tower")
	// ErrSchema: the tensors are not those of the tower that the text model's configuration describes.
	ErrSchema = errors.New("image tensors do not fit the tower")
)

// Manifest.
var (
	ErrNoManifest = rule(ErrMetadata, "no manifest.json")
	ErrCap        = rule(ErrMetadata, "larger than the metadata cap")
	ErrSyntax     = rule(ErrMetadata, "malformed or incomplete")
	ErrMagic      = rule(ErrMetadata, "not an image pack")
	ErrKind       = rule(ErrMetadata, "unknown kind of companion")
	ErrVersion    = rule(ErrMetadata, "unsupported version")
	ErrEmpty      = rule(ErrMetadata, "empty value")
	ErrDigest     = rule(ErrMetadata, "a SHA-256 value must be 64 hex digits")
	ErrFiles      = rule(ErrMetadata, "must list the weights and the processor file")
	ErrNoTensors  = rule(ErrMetadata, "no tensors")
	ErrName       = rule(ErrMetadata, "tensor name empty, not text or used twice")
	ErrPosition   = rule(ErrMetadata, "execution position is not the index")
	ErrFile       = rule(ErrMetadata, "tensor in an unknown file")
	ErrAlign      = rule(ErrMetadata, "offset is not aligned")
	ErrOverlap    = rule(ErrMetadata, "offset lies before the end of the previous tensor")
	ErrShape      = rule(ErrMetadata, "shape must be positive dimensions")
	ErrTensorSize = rule(ErrMetadata, "size is not that of the shape")
	ErrRange      = rule(ErrMetadata, "tensor ends beyond the file")
	ErrDType      = rule(ErrMetadata, "dtype must be u32 or bf16")
	ErrQuant      = rule(ErrMetadata, "u32, and only u32, is 4-bit affine with bf16 scales and biases, group 64")
)

// Binding to the text model.
var (
	ErrUnbound       = rule(ErrIncompatible, "the text model does not record its source")
	ErrOtherSource   = rule(ErrIncompatible, "made from another checkpoint")
	ErrOtherManifest = rule(ErrIncompatible, "made for another install of the text model")
	ErrNoImages      = rule(ErrIncompatible, "the text model's configuration has no images")
)

// Receipt.
var (
	ErrReceiptMissing  = rule(ErrReceipt, "missing")
	ErrReceiptSyntax   = rule(ErrReceipt, "malformed or incomplete")
	ErrReceiptSchema   = rule(ErrReceipt, "schema or kind")
	ErrReceiptManifest = rule(ErrReceipt, "made for another manifest")
	ErrReceiptText     = rule(ErrReceipt, "made for another text model")
	ErrReceiptSource   = rule(ErrReceipt, "names another source")
	ErrReceiptPath     = rule(ErrReceipt, "made for another place")
	ErrReceiptFiles    = rule(ErrReceipt, "file set mismatch")
	ErrReceiptRecord   = rule(ErrReceipt, "file record mismatch")
)

// Files and tensors.
var (
	ErrProcessorDigest = rule(ErrMetadata, "two digests for the processor file")
	ErrTensorMissing   = rule(ErrSchema, "tensor missing or out of order")
	ErrTensorExtra     = rule(ErrSchema, "tensor that the tower does not have")
	ErrTensorShape     = rule(ErrSchema, "another shape")
	ErrTensorDType     = rule(ErrSchema, "another dtype")
)

// rule makes a sentinel that belongs to a class.
func rule(class error, text string) error { return fmt.Errorf("%w: %s", class, text) }
