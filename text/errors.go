package text

import "errors"

var (
	// ErrTokenizerFile says that a tokenizer.json is not well formed or contradicts itself.
	ErrTokenizerFile = errors.New("tokenizer file is not valid")
	// ErrTokenizerKind says that a tokenizer.json is well formed but asks for something that this package does
	// not do, such as another model than BPE or another decoder. Encoding anyway would give other ids than the
	// model was trained with.
	ErrTokenizerKind = errors.New("tokenizer file asks for a step that is not supported")
)

// Of conversations.
var (
	// ErrValue says that a text is not one JSON value, or is nested too deeply.
	ErrValue = errors.New("not a JSON value")
	// ErrArguments says that the arguments of a tool call are not an object.
	ErrArguments = errors.New("tool call arguments are not an object")
	// ErrNoMessages says that a conversation is empty.
	ErrNoMessages = errors.New("conversation has no messages")
	// ErrNoPlace says that a part of a message has no place in the chat format, so that rendering would drop it.
	ErrNoPlace = errors.New("the chat format has no place for this")
	// ErrResultName says that nothing tells which function a tool result comes from.
	ErrResultName = errors.New("tool result belongs to no known call")
	// ErrMissingToken says that the tokenizer lacks a control token of the chat format.
	ErrMissingToken = errors.New("tokenizer has no such control token")
	// ErrMediaCount says that the places for images in a conversation and the images given differ.
	ErrMediaCount = errors.New("images and their places do not match")
)

// Of tool calls that the model writes; each comes wrapped in a CallError.
var (
	// ErrCallSyntax says that the text between the call tokens is not a call.
	ErrCallSyntax = errors.New("tool call is malformed")
	// ErrCallUnfinished says that the output ended inside a call.
	ErrCallUnfinished = errors.New("tool call is not finished")
	// ErrUnknownTool says that the model called a function that was not declared.
	ErrUnknownTool = errors.New("tool is not declared")
)
