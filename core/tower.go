package core

// A TowerBackend is a Backend that can also run an image tower: a bidirectional transformer over patches that yields
// soft tokens. Found by one type assertion, in package vision.
type TowerBackend interface {
	// NewTower allocates scratch for up to maxPatches patches. Weights come with each call, so that a caller may map
	// them region by region and unmap a region once Drain has returned.
	NewTower(cfg TowerConfig, maxPatches int) (Tower, error)
}

// An ImageGate is a TowerBackend whose device may be too old for towers. Found by one type assertion, in package vision.
type ImageGate interface {
	// Images returns nil, or why this device runs no tower.
	Images() error
}

// TowerConfig holds the tower's dimensions: Dv hidden width, heads of Dh, F FFN width, k pooling kernel.
type TowerConfig struct {
	Hidden, Layers, Heads, HeadDim, Width int
	PatchDim                              int // 3*16*16, channel order as gemma4-vision 2.6
	PositionRows                          int // rows of the position table, per axis
	Pool                                  int // k
	RopeTheta                             float64
	RMSNormEps                            float32
	TextHidden                            int // D of the projected rows
}

// A Tower runs one image at a time. Calls are made in order: Embed, Layer 0..L-1, Pool, Project.
type Tower interface {
	// Embed takes patches as bytes, [P, PatchDim], with their grid: P = gridW*gridH, row-major.
	Embed(patches []byte, gridW, gridH int, w TowerEmbedding) error
	Layer(w TowerLayer) error
	// Pool means k by k patches, scales by sqrt(Dv) and standardises.
	Pool(w TowerPooling) error
	// Pooled copies the standardised tower output, [N, Dv]: observers and tests.
	Pooled(dst []float32) error
	// Project writes the soft tokens, [N, D], and waits for them.
	Project(w Affine, dst []float32) error
	// Drain waits until all queued work has passed.
	Drain() error
	Close() error
}

// TowerEmbedding, TowerLayer and TowerPooling are views of the pack's tensors; matrices are bf16, [out, in].
type TowerEmbedding struct {
	Patch    Vector // [Dv, PatchDim]
	Position Vector // [2, PositionRows, Dv]
}

// TowerLayer holds one tower layer.
type TowerLayer struct {
	Query, Key, Value, Output Vector // [H*Dh, Dv], output [Dv, H*Dh]
	QueryNorm, KeyNorm        Vector // [Dh]
	Gate, Up, Down            Vector // [F, Dv], [F, Dv], [Dv, F]

	InputNorm, PostAttentionNorm, PreFFNNorm, PostFFNNorm Vector // [Dv]
}

// TowerPooling holds the standardisation vectors, [Dv].
type TowerPooling struct{ Bias, Scale Vector }
