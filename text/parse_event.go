package text

import "fmt"

// An EventKind says what the model wrote.
type EventKind uint8

const (
	// EventText is a stretch of visible text.
	EventText EventKind = iota
	// EventReasoning is a stretch of thought.
	EventReasoning
	// EventCallStart begins a tool call: Index and Name.
	EventCallStart
	// EventCallArguments is a stretch of the arguments' JSON text: Index and Text. The stretches of one call joined
	// are its final JSON.
	EventCallArguments
	// EventCallEnd completes a tool call: Index, Call, and in Text the JSON of the arguments.
	EventCallEnd
	// EventMalformed ends what was no call after all: Err, and Index if its start was reported, else -1.
	EventMalformed
	// EventStray is a control token that means nothing where it stands; Text is its name. It is no visible text.
	EventStray
	// EventDone is the last event: Finish.
	EventDone
)

// An Event is one step of a Parser. Fields that its kind does not name are zero.
type Event struct {
	Kind   EventKind
	Text   string
	Index  int // of a call among those whose start was reported
	Name   string
	Call   ToolCall // without an ID
	Err    *CallError
	Finish Finish
}

// Finish says why the model's turn ended, in the words of OpenAI's API.
type Finish string

const (
	FinishStop      Finish = "stop"
	FinishToolCalls Finish = "tool_calls" // at least one call is complete
	FinishLength    Finish = "length"
)

// A CallError is a tool call that cannot be carried out. Err wraps ErrCallSyntax, ErrCallUnfinished or
// ErrUnknownTool.
type CallError struct {
	Name string // as far as it was read
	Raw  string // everything the model wrote, control tokens spelled out
	Err  error
}

func (e *CallError) Error() string { return fmt.Sprintf("tool call %.60q: %v", e.Raw, e.Err) }
func (e *CallError) Unwrap() error { return e.Err }
