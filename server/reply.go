package server

import (
	"strings"

	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/text"
)

// A reply collects an answer.
type reply struct {
	newID    func() string
	logprobs bool

	content, reasoning strings.Builder
	calls              []openai.ToolCall // by index
	malformed          []openai.MalformedCall
	tokens             []openai.TokenLogprob
}

func (r *reply) progress(openai.Progress) {}

// say takes one event. What began as a call and was none is content, unless it was announced as a call already: then
// it stays one, with the arguments as far as they could be read, and a client answers it like any other bad call.
func (r *reply) say(e text.Event, tokens []openai.TokenLogprob) {
	r.tokens = append(r.tokens, tokens...)
	switch e.Kind {
	case text.EventText:
		r.content.WriteString(e.Text)
	case text.EventReasoning:
		r.reasoning.WriteString(e.Text)
	case text.EventCallStart:
		r.calls = append(r.calls, openai.ToolCall{
			ID: "call_" + r.newID(), Type: "function", Function: openai.FunctionCall{Name: e.Name},
		})
	case text.EventCallArguments:
		r.calls[e.Index].Function.Arguments += e.Text
	case text.EventMalformed:
		if e.Index < 0 {
			r.content.WriteString(e.Err.Raw)
		}
		r.malformed = append(r.malformed, openai.MalformedCall{
			Index: e.Index, Name: e.Err.Name, Error: e.Err.Err.Error(), Raw: e.Err.Raw,
		})
	}
}

func (r *reply) answer() openai.Answer {
	a := openai.Answer{Role: "assistant", Reasoning: r.reasoning.String(), ToolCalls: r.calls}
	if content := r.content.String(); content != "" || len(a.ToolCalls) == 0 {
		a.Content = &content
	}
	return a
}
