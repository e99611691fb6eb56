package openai

import (
	"maps"

	"github.com/fieldfare/fieldfare/core"
	model "github.com/fieldfare/fieldfare/text"
)

// A ChatRequest is a request for a chat completion, understood.
type ChatRequest struct {
	Common
	Conversation model.Conversation
	// Media are the pictures in the order of their places in Conversation.
	Media []core.Media
	// OneCall ends the answer behind its first tool call.
	OneCall bool
}

// DecodeChat reads the body of a chat completion request. Errors are of type *Error.
func DecodeChat(data []byte, o Options) (*ChatRequest, error) {
	v, err := parse(data)
	if err != nil {
		return nil, err
	}
	c := new(ChatRequest)
	r := &reader{opts: o}
	if err := c.read(r, v); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *ChatRequest) read(r *reader, v value) *Error {
	var limits tokenLimits
	var messages []Message
	var thinking thinkingChoice
	var noTools bool
	parallel := true
	table := c.fields(r.opts, &limits)
	maps.Copy(table, fields{
		"messages":             r.messages(&messages),
		"tools":                r.tools(&c.Conversation.Tools),
		"tool_choice":          toolChoice(&noTools),
		"parallel_tool_calls":  boolean(&parallel),
		"reasoning_effort":     thinking.effort,
		"chat_template_kwargs": thinking.kwargs,
		"response_format":      responseFormat,
		"logprobs":             boolean(&c.Generate.Logprobs),
		"top_logprobs":         integer(&c.Generate.TopLogprobs, 0, 20),
		"modalities":           modalities,

		"verbosity":          ignored,
		"moderation":         ignored,
		"audio":              refused("there is no sound"),
		"prediction":         refused("predicted output is not used"),
		"web_search_options": refused("nothing is fetched"),
		"functions":          refused("use tools"),
		"function_call":      refused("use tool_choice"),
	})
	if err := table.read(v, ""); err != nil {
		return err
	}
	if messages == nil {
		return refuse(CodeMissing, "messages", "a request has messages")
	}
	if c.Generate.TopLogprobs > 0 && !c.Generate.Logprobs {
		return refuse(CodeInvalidValue, "top_logprobs", "needs logprobs to be true")
	}
	if noTools {
		c.Conversation.Tools = nil
	}
	c.Generate.MaxTokens, c.OneCall = limits.max(), !parallel
	c.Conversation.Thinking = thinking.on()
	var err *Error
	c.Conversation.Messages, c.Media, err = r.merge(messages)
	c.Notes = r.notes
	return err
}

// thinkingChoice collects what a request says about thinking. enable_thinking counts before reasoning_effort.
type thinkingChoice struct {
	enable *bool
	level  string
}

func (t *thinkingChoice) effort(v value, at string) *Error {
	return oneOf(&t.level, "none", "minimal", "low", "medium", "high", "xhigh", "max")(v, at)
}

func (t *thinkingChoice) kwargs(v value, at string) *Error {
	return fields{"enable_thinking": func(v value, at string) *Error {
		t.enable = new(bool)
		return boolean(t.enable)(v, at)
	}}.read(v, at)
}

func (t *thinkingChoice) on() bool {
	if t.enable != nil {
		return *t.enable
	}
	return t.level != "" && t.level != "none" && t.level != "minimal"
}

// responseFormat takes text, which is no constraint. The others would have to be enforced.
func responseFormat(v value, at string) *Error {
	kind, err := partType(v, at)
	switch {
	case err != nil:
		return err
	case kind == "text":
		return nil
	case kind == "json_object" || kind == "json_schema":
		return refuse(CodeUnsupportedValue, at+".type", "%q cannot be enforced here", kind)
	}
	return refuse(CodeInvalidValue, at+".type", "%q is none of text, json_object, json_schema", shorten(kind))
}

func modalities(v value, at string) *Error {
	return list(func(v value, at string) *Error {
		var s string
		if err := text(&s)(v, at); err != nil || s == "text" {
			return err
		}
		return refuse(CodeUnsupportedValue, at, "answers are text")
	})(v, at)
}

// A Conversation is what a file of messages holds.
type Conversation struct {
	model.Conversation
	Media []core.Media // in the order of their places
	Notes []string
}

// ParseMessages reads a conversation from a file: an array of messages, or an object with messages and tools. Errors
// are of type *Error.
func ParseMessages(data []byte, o Options) (*Conversation, error) {
	v, err := parse(data)
	if err != nil {
		return nil, err
	}
	c := new(Conversation)
	r := &reader{opts: o}
	var messages []Message
	if v.kind() == "array" {
		err = r.messages(&messages)(v, "messages")
	} else {
		err = fields{"messages": r.messages(&messages), "tools": r.tools(&c.Tools)}.read(v, "")
	}
	if err == nil && messages == nil {
		err = refuse(CodeMissing, "messages", "there are no messages")
	}
	if err == nil {
		c.Messages, c.Media, err = r.merge(messages)
	}
	if err != nil {
		return nil, err
	}
	c.Notes = r.notes
	return c, nil
}
