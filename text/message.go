package text

// A Role says who speaks in a message. The templates write a role that they do not know as it is.
type Role string

// The roles that the templates know.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Conversation is what a Template renders.
type Conversation struct {
	Messages []Message
	Tools    []Tool
	// Thinking asks the model to think before it answers.
	Thinking bool
	// AddGenerationPrompt ends the text where the model's answer begins. Without it the conversation is a record.
	AddGenerationPrompt bool
}

// A Message is one entry of a conversation.
type Message struct {
	Role    Role
	Content Content
	// Reasoning is what an assistant thought before it answered. The templates show it only while the model is
	// still working on the last question.
	Reasoning string
	// ToolCalls are the calls that an assistant made; they come before the content.
	ToolCalls []ToolCall
	// ToolResponses are results kept in the assistant's own message. If there are any, no tool messages may follow.
	ToolResponses []ToolResponse
	// ToolCallID says which call a tool message answers.
	ToolCallID string
	// Name of the function whose result a tool message holds, for when no call has its ToolCallID.
	Name string
}

// Content is the content of a message: a text, a list of parts, or nothing (the zero Content). A list of one text
// differs from that text in one place: the leading system message ends each part of a list with a space.
type Content struct {
	parts []Part
	form  contentForm
}

type contentForm uint8

const (
	contentNull contentForm = iota
	contentText
	contentList
)

// Plain returns content that is one text.
func Plain(s string) Content { return Content{parts: []Part{{Text: s}}, form: contentText} }

// List returns content that is a list of parts, which it keeps.
func List(parts ...Part) Content { return Content{parts: parts, form: contentList} }

// Parts returns the parts of c, one for a plain text. The caller must not change them.
func (c Content) Parts() []Part { return c.parts }

// IsNull says whether there is no content at all.
func (c Content) IsNull() bool { return c.form == contentNull }

// A Part is a stretch of text or the place of an image. This package never sees the image: the caller keeps
// images in the order of their parts and says in Encode how many tokens each one takes.
type Part struct {
	Image bool
	Text  string // empty for an image
}

// A Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is the JSON Schema of the arguments, best passed through NormalizeSchema. Null and {} mean that
	// the function takes none.
	Parameters Value
	// Response is the schema of the result. T3 shows its description and type, T4 nothing. Null means none.
	Response Value
}

// A ToolCall is a call that the model made.
type ToolCall struct {
	// ID ties a result to its call. The model knows no ids; whoever talks to a client makes them.
	ID        string
	Name      string
	Arguments Value // an object, or null for no arguments
}

// A ToolResponse is a result in an assistant's own message.
type ToolResponse struct {
	Name     string
	Response Value
}
