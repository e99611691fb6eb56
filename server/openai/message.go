package openai

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	model "github.com/fieldfare/fieldfare/text"
)

// A Message is one message of a request, before Merge.
type Message struct {
	model.Message
	// Images are the pictures of Content, in the order of their places.
	Images []core.Media

	at string // its path in the request
}

// A reader reads the messages of one request.
type reader struct {
	opts   Options
	images int // pictures so far
	notes  []string
}

func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *reader) messages(dst *[]Message) field {
	return func(v value, at string) *Error {
		if err := list(func(v value, at string) *Error {
			m, err := r.message(v, at)
			*dst = append(*dst, m)
			return err
		})(v, at); err != nil {
			return err
		}
		if len(*dst) == 0 {
			return refuse(CodeInvalidValue, at, "there are no messages")
		}
		return nil
	}
}

var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

func (r *reader) message(v value, at string) (Message, *Error) {
	m := Message{at: at}
	var role, refusal string
	var content, calls, legacy value
	keep := func(dst *value) field {
		return func(v value, _ string) *Error { *dst = v; return nil }
	}
	err := fields{
		"role":              oneOf(&role, roles...),
		"content":           keep(&content),
		"name":              text(&m.Name),
		"tool_call_id":      text(&m.ToolCallID),
		"tool_calls":        keep(&calls),
		"function_call":     keep(&legacy),
		"reasoning_content": text(&m.Reasoning),
		"reasoning":         text(&m.Reasoning),
		"refusal":           text(&refusal),
		"audio":             refused("there is no sound"),
		"parsed":            ignored,
		"annotations":       ignored,
		"cache_control":     ignored,
		"reasoning_details": ignored,
		"id":                ignored,
		"status":            ignored,
	}.read(v, at)
	switch {
	case err != nil:
		return m, err
	case role == "":
		return m, refuse(CodeMissing, at+".role", "every message has a role")
	}
	m.Role = model.Role(role)
	if m.Role != "assistant" {
		if m.Reasoning != "" || calls != nil || legacy != nil || refusal != "" {
			return m, refuse(CodeInvalidValue, at,
				"reasoning_content, tool_calls, function_call and refusal belong to the assistant")
		}
	}
	if content != nil {
		if err := r.content(&m, content, at+".content"); err != nil {
			return m, err
		}
	} else if refusal != "" {
		m.Content = model.Plain(refusal)
	}
	return m, r.calls(&m, calls, legacy)
}

// content takes a string or a list of parts.
func (r *reader) content(m *Message, v value, at string) *Error {
	if v.kind() == "string" {
		m.Content = model.Plain(v.text())
		return nil
	}
	if v.kind() != "array" {
		return wrongType(v, at, "a string or an array of parts")
	}
	var parts []model.Part
	err := list(func(v value, at string) *Error {
		p, err := r.part(m, v, at)
		parts = append(parts, p)
		return err
	})(v, at)
	m.Content = model.List(parts...)
	return err
}

// calls reads the calls of an assistant, in today's form and the one before.
func (r *reader) calls(m *Message, v, legacy value) *Error {
	if legacy != nil {
		call, err := r.function(legacy, m.at+".function_call")
		if err != nil {
			return err
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	if v == nil {
		return nil
	}
	return list(func(v value, at string) *Error {
		var id, kind string
		var call model.ToolCall
		err := fields{
			"id":    text(&id),
			"type":  oneOf(&kind, "function"),
			"index": ignored,
			"function": func(v value, at string) (err *Error) {
				call, err = r.function(v, at)
				return err
			},
			"extra_content": ignored,
		}.read(v, at)
		if err == nil && call.Name == "" {
			err = refuse(CodeMissing, at+".function", "a call has a function")
		}
		call.ID = id
		m.ToolCalls = append(m.ToolCalls, call)
		return err
	})(v, m.at+".tool_calls")
}

func (r *reader) function(v value, at string) (model.ToolCall, *Error) {
	var call model.ToolCall
	err := fields{
		"name":             text(&call.Name),
		"parsed_arguments": ignored,
		"arguments": func(v value, at string) *Error {
			call.Arguments = r.arguments(v, at)
			return nil
		},
	}.read(v, at)
	if err == nil && call.Name == "" {
		err = refuse(CodeMissing, at+".name", "a call names its function")
	}
	return call, err
}

// arguments reads what an earlier call was made with: the JSON text of an object, or the object. What the model once
// wrote and nobody could read is kept as text, for a client cannot repair its history.
func (r *reader) arguments(v value, at string) model.Value {
	s := string(v)
	if v.kind() == "string" {
		s = v.text()
	}
	arguments, err := model.ParseArguments(s)
	if err != nil {
		r.note("%s: kept as text: %v", at, model.ErrArguments)
		return model.ObjectValue(model.Member{Key: "unparsed", Value: model.StringValue(s)})
	}
	return arguments
}
