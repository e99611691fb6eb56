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
	calls              []openai.ToolCall // by index, malformed ones included
	malformed          []openai.MalformedCall
	tokens             []openai.TokenLogprob
}

func (r *reply) progress(openai.Progress) {}

// say takes one event. The text of a malformed call becomes content, so that nothing is lost.
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
		r.content.WriteString(e.Err.Raw)
		r.malformed = append(r.malformed, openai.MalformedCall{
			Index: e.Index, Name: e.Err.Name, Error: e.Err.Err.Error(), Raw: e.Err.Raw,
		})
	}
}

// answer returns what was collected, without calls that turned out to be malformed.
func (r *reply) answer() openai.Answer {
	a := openai.Answer{Role: "assistant", Reasoning: r.reasoning.String()}
	broken := make(map[int]bool)
	for _, m := range r.malformed {
		broken[m.Index] = true
	}
	for i, call := range r.calls {
		if !broken[i] {
			a.ToolCalls = append(a.ToolCalls, call)
		}
	}
	if content := r.content.String(); content != "" || len(a.ToolCalls) == 0 {
		a.Content = &content
	}
	return a
}
