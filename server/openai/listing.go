package openai

// A ModelList is the answer of /v1/models.
type ModelList struct {
	Object string  `json:"object"` // list
	Data   []Model `json:"data"`
}

// A Model describes the loaded model.
type Model struct {
	ID            string       `json:"id"`
	Object        string       `json:"object"` // model
	Created       int64        `json:"created"`
	OwnedBy       string       `json:"owned_by"`
	ContextWindow int          `json:"context_window"`
	MaxModelLen   int          `json:"max_model_len"` // the same, under the name that vLLM's clients read
	Modalities    Modalities   `json:"modalities"`
	Capabilities  []string     `json:"capabilities"`
	Images        *ImageLimits `json:"image_limits,omitempty"` // when images are taken
}

// Modalities says what goes in and comes out.
type Modalities struct {
	Input  []string `json:"input"`
	Output []string `json:"output"`
}

// ImageLimits are the limits for pictures, and the soft tokens that the values of detail buy; 0 is the model's own
// choice.
type ImageLimits struct {
	MostImages     int            `json:"max_images"`
	MostBytes      int            `json:"max_bytes_per_image"`
	MostSoftTokens int            `json:"max_soft_tokens_per_image"`
	Detail         map[string]int `json:"detail_soft_tokens"`
}

// InputTokens is the answer of /v1/chat/completions/input_tokens: what a request would cost.
type InputTokens struct {
	Object        string `json:"object"` // chat.completion.input_tokens
	Total         int    `json:"input_tokens"`
	Text          int    `json:"text_tokens"`
	Image         int    `json:"image_tokens"`
	Reusable      int    `json:"reusable_tokens"`
	ContextWindow int    `json:"context_window"`
	Fits          bool   `json:"fits"`
	RoomForAnswer int    `json:"room_for_answer"`
	// ExpectedSeconds until the first token, queue left out; null as long as nothing was measured.
	ExpectedSeconds *float64       `json:"expected_seconds"`
	Images          []ImageReceipt `json:"images,omitempty"`
	Notes           []string       `json:"notes,omitempty"`
}
