package gturbo

import "errors"

// Every way in which an install can be refused has its own sentinel here. A sentinel wraps the class that it belongs
// to, so that callers may test for the class (ErrCorrupt) or for the one rule (ErrLayoutOverlap).

// Classes, and rules that are a class of their own.
var (
	// ErrPartial: the directory has no manifest.json: its installation was never finished.
	ErrPartial = errors.New("the install is not complete (no manifest.json)")
	// ErrNotGTurbo: the manifest's magic is not GTURBO.
	ErrNotGTurbo = errors.New("not a .gturbo install")
	// ErrVersion: the format version is not one that this program reads.
	ErrVersion = errors.New("unsupported format version")
	// ErrFlag: the manifest sets a flag that this program does not know.
	ErrFlag = errors.New("unknown flag")
	// ErrArch: config.json and manifest.json describe different models.
	ErrArch = errors.New("architecture mismatch")
	// ErrStride: the expert stride is not a multiple of Align.
	ErrStride = errors.New("expert stride is not page aligned")
	// ErrMissingFile: the manifest does not list a file that it must list, or a listed file does not exist.
	ErrMissingFile = errors.New("missing file")
	// ErrSize: a file has another size than the manifest or its own header says.
	ErrSize = errors.New("file size mismatch")
	// ErrChecksum: a file's bytes are not those that the manifest promises.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrUnreadable: the system failed to open or read a file.
	ErrUnreadable = errors.New("cannot be read")
	// ErrUnsafePath: a name inside an install leads to something other than a regular file below its root.
	ErrUnsafePath = errors.New("unsafe path")
	// ErrReceipt: the receipt does not vouch for this install.
	ErrReceipt = errors.New("trusted receipt invalid")
	// ErrCorrupt: metadata breaks a rule of the format.
	ErrCorrupt = errors.New("metadata corrupt")
	// ErrSchema: the resident tensors or expert blobs are not those that the runtime needs.
	ErrSchema = errors.New("tensors do not fit the architecture")
	// ErrUnsupported: the model uses a feature that this program does not run.
	ErrUnsupported = errors.New("unsupported model feature")
	// ErrMetadataCap: a metadata file is larger than the format allows.
	ErrMetadataCap = errors.New("larger than the metadata cap")
	// ErrTruncated: a buffer ends before the structure that it should hold.
	ErrTruncated = rule(ErrCorrupt, "truncated")
	// ErrOverflow: a sum or product of sizes does not fit 64 bits.
	ErrOverflow = rule(ErrCorrupt, "size overflow")
	// ErrClosed: the install has been closed.
	ErrClosed = errors.New("install is closed")
	// ErrScanLimit: a directory holds more entries, or deeper ones, than Verify is willing to list.
	ErrScanLimit = errors.New("too many or too deep directory entries")
)

// Paths.
var (
	ErrPathGrammar   = rule(ErrCorrupt, "not a plain relative path")
	ErrSymlink       = rule(ErrUnsafePath, "a symbolic link")
	ErrNotRegular    = rule(ErrUnsafePath, "not a regular file")
	ErrNotDirectory  = rule(ErrUnsafePath, "not a directory")
	ErrPathDuplicate = rule(ErrCorrupt, "two names for one file")
	ErrPathReserved  = rule(ErrCorrupt, "a reserved name")
	ErrPathPrefix    = rule(ErrCorrupt, "both a file and a directory")
)

// Manifest.
var (
	ErrModelID       = rule(ErrCorrupt, "empty model id")
	ErrDigest        = rule(ErrCorrupt, "a SHA-256 value must be 64 hex digits")
	ErrStrideZero    = rule(ErrCorrupt, "expert stride is zero")
	ErrLayerCount    = rule(ErrCorrupt, "layer count is not positive, or stated twice and differently")
	ErrExpertCount   = rule(ErrCorrupt, "expert count is not positive, or stated twice and differently")
	ErrArchDimension = rule(ErrCorrupt, "dimension is not positive")
	ErrArchNumber    = rule(ErrCorrupt, "number out of its range")
	ErrTopK          = rule(ErrCorrupt, "experts chosen per token out of range")
	ErrActivation    = rule(ErrCorrupt, "empty activation name")
	ErrLayerMask     = rule(ErrCorrupt, "full-attention mask must hold 0 or 1 for each layer")
	ErrQuantBits     = rule(ErrCorrupt, "weight bits out of 1..32")
	ErrQuantName     = rule(ErrCorrupt, "empty quantization name")
	ErrQuantGroup    = rule(ErrCorrupt, "group size is not positive")

	ErrTurboQuantKV = rule(ErrUnsupported, "quantized KV cache")
	ErrQuantMissing = rule(ErrCorrupt, "no quantization recorded")
	ErrQuantScheme  = rule(ErrUnsupported, "quantization other than affine, group 64, bf16, of the bits we read")
)

// Receipt. The texts are those that tools of this format's family look for.
var (
	ErrReceiptSchema   = rule(ErrReceipt, "schema version")
	ErrReceiptManifest = rule(ErrReceipt, "manifest SHA mismatch")
	ErrReceiptPath     = rule(ErrReceipt, "model directory mismatch")
	ErrReceiptFiles    = rule(ErrReceipt, "file set mismatch")
	ErrReceiptRecord   = rule(ErrReceipt, "file record mismatch")
)

// Resident index.
var (
	ErrIndexHeader      = rule(ErrTruncated, "shorter than the index header")
	ErrIndexSize        = rule(ErrTruncated, "index size is too small, unaligned or beyond the end")
	ErrIndexTableSize   = rule(ErrOverflow, "entry table")
	ErrIndexTable       = rule(ErrCorrupt, "entry table is larger than the index")
	ErrIndexResident    = rule(ErrOverflow, "index plus payload")
	ErrEntryReserved    = rule(ErrCorrupt, "reserved byte is not zero")
	ErrEntryNameRange   = rule(ErrCorrupt, "name lies outside the string table")
	ErrEntryNameUTF8    = rule(ErrCorrupt, "name is not UTF-8")
	ErrEntryNameEmpty   = rule(ErrCorrupt, "name is empty")
	ErrEntryNameTwice   = rule(ErrCorrupt, "name occurs twice")
	ErrEntryNameLength  = rule(ErrCorrupt, "name is longer than 65535 bytes")
	ErrEntryNamesShared = rule(ErrCorrupt, "names take more bytes than the string table holds")
	ErrEntryDType       = rule(ErrCorrupt, "unknown dtype")
	ErrEntryShape       = rule(ErrCorrupt, "shape must be positive dimensions followed by zeros")
	ErrEntryEmpty       = rule(ErrCorrupt, "primary payload is empty")
	ErrEntryCompanion   = rule(ErrCorrupt, "companion has an offset but no size")
	ErrEntryRange       = rule(ErrCorrupt, "range lies outside the payload")
	ErrEntryOverlap     = rule(ErrCorrupt, "payload ranges overlap")
)

// Expert layout.
var (
	ErrLayoutStride        = rule(ErrCorrupt, "layout stride is zero or unaligned")
	ErrLayoutCount         = rule(ErrCorrupt, "layout count is not positive")
	ErrLayoutLayers        = rule(ErrCorrupt, "number of layers differs from the layer count")
	ErrLayoutLayerID       = rule(ErrCorrupt, "layer number out of range or used twice")
	ErrLayoutFileName      = rule(ErrCorrupt, "layer file is not a plain base name")
	ErrLayoutFileReserved  = rule(ErrCorrupt, "layer file is named like the layout")
	ErrLayoutFileTwice     = rule(ErrCorrupt, "layer file is named twice")
	ErrLayoutExperts       = rule(ErrCorrupt, "number of experts differs from the expert count")
	ErrLayoutExpertMixed   = rule(ErrCorrupt, "some experts state their id and some do not")
	ErrLayoutExpertID      = rule(ErrCorrupt, "expert id out of range or used twice")
	ErrLayoutRank          = rule(ErrCorrupt, "physical rank out of range or used twice")
	ErrLayoutOffset        = rule(ErrCorrupt, "expert offset is not rank times stride")
	ErrLayoutExpertSize    = rule(ErrCorrupt, "expert size is not the stride")
	ErrLayoutRole          = rule(ErrCorrupt, "empty role name")
	ErrLayoutTensorSize    = rule(ErrCorrupt, "sub-tensor is empty or ends beyond its expert")
	ErrLayoutTensorDType   = rule(ErrCorrupt, "sub-tensor dtype must be U32 or BF16")
	ErrLayoutTensorShape   = rule(ErrCorrupt, "sub-tensor shape must be positive dimensions")
	ErrLayoutTensorBits    = rule(ErrCorrupt, "sub-tensor bits out of 1..32")
	ErrLayoutTensorOverlap = rule(ErrCorrupt, "sub-tensors overlap")
	ErrLayoutManifest      = rule(ErrCorrupt, "layout and manifest disagree")
	ErrLayoutLayerFile     = rule(ErrCorrupt, "layer file is not listed with the size of its experts")
)

// Runtime schema.
var (
	ErrTensorMissing  = rule(ErrSchema, "tensor not found")
	ErrTensorDType    = rule(ErrSchema, "tensor has another dtype")
	ErrTensorShape    = rule(ErrSchema, "tensor has another shape")
	ErrTensorSize     = rule(ErrSchema, "tensor size mismatch")
	ErrTensorAlign    = rule(ErrSchema, "tensor is not aligned to its elements")
	ErrTensorBits     = rule(ErrSchema, "tensor states other bits")
	ErrGroupSplit     = rule(ErrSchema, "columns are not a multiple of the group size")
	ErrDimensions     = rule(ErrSchema, "dimensions do not fit together")
	ErrRoleMissing    = rule(ErrSchema, "expert lacks a role")
	ErrExpertsDiffer  = rule(ErrSchema, "experts are laid out differently")
	ErrBlobRange      = rule(ErrSchema, "sub-tensor ends beyond 4 GiB")
	ErrDimensionLimit = rule(ErrSchema, "product of dimensions overflows")
)

// Checkpoint configuration.
var (
	ErrConfig = errors.New("checkpoint configuration invalid")

	ErrConfigNumber    = rule(ErrConfig, "number out of its range")
	ErrConfigLayers    = rule(ErrConfig, "layer types do not fit the layer count")
	ErrConfigHeads     = rule(ErrConfig, "query heads are not a multiple of the KV heads")
	ErrConfigGroup     = rule(ErrConfig, "width is not a multiple of the quantization group")
	ErrConfigQuant     = rule(ErrConfig, "override with another group size than the base")
	ErrModelType       = rule(ErrUnsupported, "model type")
	ErrLayerType       = rule(ErrUnsupported, "layer type")
	ErrPerLayerInputs  = rule(ErrUnsupported, "per-layer inputs")
	ErrKVSharing       = rule(ErrUnsupported, "KV sharing between layers")
	ErrDoubleWideMLP   = rule(ErrUnsupported, "double-wide MLP")
	ErrAudioTower      = rule(ErrUnsupported, "audio tower")
	ErrClippedLinears  = rule(ErrUnsupported, "clipped linears")
	ErrAttentionBias   = rule(ErrUnsupported, "attention bias")
	ErrDenseModel      = rule(ErrUnsupported, "layers without experts")
	ErrUntiedHead      = rule(ErrUnsupported, "output head of its own")
	ErrSeparateValues  = rule(ErrUnsupported, "value projection in full-attention layers")
	ErrActivationType  = rule(ErrUnsupported, "activation other than gelu_pytorch_tanh")
	ErrRopeType        = rule(ErrUnsupported, "rotary embedding type")
	ErrAttentionMask   = rule(ErrUnsupported, "bidirectional attention outside images")
	ErrConfigQuantType = rule(ErrUnsupported, "quantization other than affine, group 64")
)

type ruleError struct {
	class error
	text  string
}

// rule makes a sentinel that belongs to a class.
func rule(class error, text string) error { return &ruleError{class, text} }

func (e *ruleError) Error() string { return e.text }
func (e *ruleError) Unwrap() error { return e.class }
