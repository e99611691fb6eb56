package core

// Config holds the dimensions and constants of the text model, read from the install. Letters as in the docs:
// L layers, D hidden width, H query heads, G KV heads, Dh head width, E experts, K chosen per token.
type Config struct {
	Hidden        int // D
	Layers        []LayerConfig
	Heads         int // H
	Window        int // W: positions that a sliding row sees, itself included
	SharedWidth   int // Fs
	ExpertWidth   int // F
	Experts, TopK int // E, K
	Vocab         int // V
	RMSNormEps    float32
	LogitSoftcap  float32
	EmbedScale    float32 // sqrt(D) rounded to bf16
	MaxPositions  int
	RopeTheta     float64 // sliding layers: every pair rotates
	FullRopeTheta float64 // full layers: the first FullRotary pairs rotate
	FullRotary    int     // rotating pairs of a full head, floor(partial_rotary_factor * Dh / 2)
	EOS           []int32 // ids that end a turn
}

// LayerConfig holds what differs between sliding and full layers.
type LayerConfig struct {
	Full    bool
	KVHeads int // G
	HeadDim int // Dh
	// ValueFromKey: V is made from the raw K projection; the layer has no v_proj.
	ValueFromKey bool
}

// Affine is a quantized matrix [Out, In] as it lies in the file: unsigned codes of Bits bits, groups of 64 along In,
// w = scale*code + bias. Codes may start at any even address (8-bit: any address): never read them as aligned words.
type Affine struct {
	Codes, Scales, Biases []byte
	Out, In, Bits         int
}

// Vector is a bf16 vector as it lies in the file, little-endian, two bytes an element.
type Vector []byte

// Weights holds views of all resident tensors. The bytes belong to the install's mapping.
type Weights struct {
	Config Config
	// Region is the mapped payload of model_weights.bin that all views lie in; a backend may wrap it whole.
	Region []byte
	Embed  Affine // [V, D]; also the head
	Norm   Vector
	Layers []LayerWeights
	Expert ExpertLayout
}

// LayerWeights holds one layer's resident tensors; names as in the checkpoint.
type LayerWeights struct {
	Query, Key, Value, Output Affine // Value is zero when ValueFromKey
	QueryNorm, KeyNorm        Vector // [Dh]

	Router         Affine // [E, D], 8 bits
	RouterScale    Vector // [D]
	PerExpertScale Vector // [E]

	Gate, Up, Down Affine // shared expert, [Fs, D], [Fs, D], [D, Fs]

	InputNorm, PostAttentionNorm Vector
	PreSharedNorm                Vector // pre_feedforward_layernorm
	PreRoutedNorm                Vector // pre_feedforward_layernorm_2
	PostSharedNorm               Vector // post_feedforward_layernorm_1
	PostRoutedNorm               Vector // post_feedforward_layernorm_2
	PostFFNNorm                  Vector // post_feedforward_layernorm
	Scalar                       float32
}

// ExpertLayout says where an expert's nine tensors lie in its blob; the same for all experts of all layers.
type ExpertLayout struct {
	Stride         int // bytes of a blob, a multiple of 16384
	Gate, Up, Down AffineRange
}

// AffineRange is an Affine given by byte offsets in a blob.
type AffineRange struct {
	Codes, Scales, Biases int
	Out, In, Bits         int
}

// View returns the matrix as views of blob.
func (r AffineRange) View(blob []byte) Affine {
	weights := r.Out * r.In * r.Bits / 8
	group := 2 * r.Out * (r.In / 64)
	return Affine{
		Codes:  blob[r.Codes : r.Codes+weights],
		Scales: blob[r.Scales : r.Scales+group],
		Biases: blob[r.Biases : r.Biases+group],
		Out:    r.Out, In: r.In, Bits: r.Bits,
	}
}
