package openai

// A ChatCompletion is a whole answer.
type ChatCompletion struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"` // chat.completion
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Fingerprint string       `json:"system_fingerprint"`
	Choices     []ChatChoice `json:"choices"`
	Usage       *Usage       `json:"usage"`
	Extension   *Extension   `json:"fieldfare,omitempty"`
}

// A ChatChoice is the only choice of an answer.
type ChatChoice struct {
	Index    int           `json:"index"`
	Message  Answer        `json:"message"`
	Logprobs *ChatLogprobs `json:"logprobs"`
	Finish   string        `json:"finish_reason"`
}

// An Answer is what the model said.
type Answer struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"` // null when there are only tool calls
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	Refusal   *string    `json:"refusal"`
}

// A ToolCall is a call, or in a stream a part of one; there Index says of which.
type ToolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function FunctionCall `json:"function"`
}

// A FunctionCall names a function; Arguments is JSON text.
type FunctionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// A ChatChunk is one event of a stream.
type ChatChunk struct {
	ID          string        `json:"id"`
	Object      string        `json:"object"` // chat.completion.chunk
	Created     int64         `json:"created"`
	Model       string        `json:"model"`
	Fingerprint string        `json:"system_fingerprint"`
	Choices     []ChunkChoice `json:"choices"`
	Usage       *Usage        `json:"usage,omitempty"`
	Progress    *Progress     `json:"prompt_progress,omitempty"`
	Extension   *Extension    `json:"fieldfare,omitempty"`
}

// A ChunkChoice is what is new. Finish is null until the last one.
type ChunkChoice struct {
	Index    int           `json:"index"`
	Delta    Delta         `json:"delta"`
	Logprobs *ChatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

// A Delta is a piece of an Answer.
type Delta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
}

// ChatLogprobs are the log-probabilities of the tokens of the visible text.
type ChatLogprobs struct {
	Content []TokenLogprob `json:"content"`
}

// A TokenLogprob is a token, its bytes, and in Top the likeliest ones in its place.
type TokenLogprob struct {
	Token   string         `json:"token"`
	Logprob float64        `json:"logprob"`
	Bytes   []int          `json:"bytes"`
	Top     []TokenLogprob `json:"top_logprobs,omitempty"`
}

// Usage counts tokens. PromptTokens includes those of pictures and those that were reused.
type Usage struct {
	PromptTokens     int               `json:"prompt_tokens"`
	CompletionTokens int               `json:"completion_tokens"`
	TotalTokens      int               `json:"total_tokens"`
	PromptDetails    PromptDetails     `json:"prompt_tokens_details"`
	OutputDetails    CompletionDetails `json:"completion_tokens_details"`
}

// PromptDetails says what part of the prompt was reused, and what part is pictures.
type PromptDetails struct {
	CachedTokens int `json:"cached_tokens"`
	ImageTokens  int `json:"image_tokens"`
}

// CompletionDetails says what part of the answer was thought.
type CompletionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// Progress says how far a prompt is. Total, Cache and Processed count tokens.
type Progress struct {
	Phase     string  `json:"phase"` // queue, encode, prefill
	Position  int     `json:"queue_position,omitempty"`
	Total     int     `json:"total"`
	Cache     int     `json:"cache"`
	Processed int     `json:"processed"`
	Millis    int64   `json:"time_ms"`
	Percent   float64 `json:"percent"`
	// Remaining is an estimate; null as long as nothing is known.
	Remaining *float64 `json:"remaining_seconds"`
}

// A Completion is a whole raw completion, or one event of its stream.
type Completion struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"` // text_completion
	Created     int64              `json:"created"`
	Model       string             `json:"model"`
	Fingerprint string             `json:"system_fingerprint"`
	Choices     []CompletionChoice `json:"choices"`
	Usage       *Usage             `json:"usage,omitempty"`
	Progress    *Progress          `json:"prompt_progress,omitempty"`
	Extension   *Extension         `json:"fieldfare,omitempty"`
}

// A CompletionChoice is the only choice of a Completion.
type CompletionChoice struct {
	Index    int                 `json:"index"`
	Text     string              `json:"text"`
	Logprobs *CompletionLogprobs `json:"logprobs"`
	Finish   *string             `json:"finish_reason"`
}

// CompletionLogprobs are log-probabilities in the form of raw completions.
type CompletionLogprobs struct {
	Tokens   []string             `json:"tokens"`
	Logprobs []float64            `json:"token_logprobs"`
	Top      []map[string]float64 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
}
