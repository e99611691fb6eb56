package openai

// An Extension is the member "fieldfare" of an answer, in a stream of the chunk that ends it: what OpenAI's format has
// no place for.
type Extension struct {
	// Seed repeats the answer.
	Seed    uint64         `json:"seed"`
	Reuse   Reuse          `json:"reuse"`
	Images  []ImageReceipt `json:"images,omitempty"`
	Timings Timings        `json:"timings"`
	Experts Experts        `json:"experts"`
	// StopString is set when a stop text ended the answer, ContextFull when there was no position left.
	StopString  bool            `json:"stop_string,omitempty"`
	ContextFull bool            `json:"context_full,omitempty"`
	Malformed   []MalformedCall `json:"malformed_tool_calls,omitempty"`
	Notes       []string        `json:"notes,omitempty"`
}

// Reuse says how much of the prompt an earlier request had left, and what ended it.
type Reuse struct {
	Tokens   int    `json:"tokens"`
	Common   int    `json:"common_tokens"`
	End      string `json:"end"`
	Position int    `json:"position,omitempty"`
}

// An ImageReceipt says what became of a picture. Cached means that its tokens were reused and nothing was computed.
type ImageReceipt struct {
	Name       string `json:"name"`
	SoftTokens int    `json:"soft_tokens"`
	Digest     string `json:"digest"` // of the picture and how it was prepared
	Cached     bool   `json:"cached"`
	// Receipt is the image extension's own report: size, orientation, shrink factor and more.
	Receipt any `json:"receipt,omitempty"`
}

// Timings are in seconds and tokens per second.
type Timings struct {
	Queue      float64 `json:"queue_seconds"`
	Encode     float64 `json:"encode_seconds"`
	Prefill    float64 `json:"prefill_seconds"`
	First      float64 `json:"first_token_seconds"` // from the request to the first token
	Decode     float64 `json:"decode_seconds"`
	PromptRate float64 `json:"prompt_tokens_per_second"`
	DecodeRate float64 `json:"decode_tokens_per_second"`
}

// Experts says what was read from the disk for this answer.
type Experts struct {
	BytesRead int64   `json:"bytes_read"`
	HitRate   float64 `json:"hit_rate"`
}

// A MalformedCall is what began as a tool call and was none. Raw is everything that the model wrote of it. Index is that
// of the unfinished call among the answer's; -1 means that Raw is part of the content instead.
type MalformedCall struct {
	Index int    `json:"index"`
	Name  string `json:"name,omitempty"`
	Error string `json:"error"`
	Raw   string `json:"raw"`
}
