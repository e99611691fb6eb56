package server

import (
	"context"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/text"
)

// chatVoice speaks an answer as chunks.
type chatVoice struct {
	reply // for the account; holds no more than the answer
	head  chatHead
	out   *stream
	tell  bool // send every progress
	last  atomic.Pointer[openai.Progress]
}

// streamChat answers with events. The first one is sent at once, before the queue: clients and people see that
// somebody is there.
func (s *Server) streamChat(c echo.Context, j *job, rq *openai.ChatRequest, head chatHead) error {
	ctx, lost := context.WithCancelCause(c.Request().Context())
	defer lost(nil)
	v := &chatVoice{head: head, tell: rq.ReturnProgress}
	v.newID, v.logprobs = s.opts.NewID, rq.Generate.Logprobs
	v.out = s.startStream(c, func() []byte { return v.keepAlive(s.opts.KeepAlive) }, lost)
	defer v.out.end()
	empty := ""
	v.delta(openai.Delta{Role: "assistant", Content: &empty}, nil)
	a, err := j.run(ctx, v)
	if err != nil {
		s.endStream(c, v.out, err)
		return nil
	}
	finish := string(a.Finish)
	last := head.chunk(openai.ChunkChoice{Finish: &finish})
	last.Extension = j.extension(&a, v.malformed)
	v.out.send(event(last))
	if rq.IncludeUsage {
		usage := head.chunk()
		usage.Usage = j.usage(&a)
		v.out.send(event(usage))
	}
	v.out.send(endMarker)
	return nil
}

// endStream tells a client that still listens why its stream ends early.
func (s *Server) endStream(c echo.Context, out *stream, err error) {
	p := s.explain(err)
	c.Set(keyStatus, p.status)
	s.metrics.refused(p)
	s.logFailure(c, p, err)
	out.send(event(openai.ErrorEnvelope{Error: p.body}))
	out.send(endMarker)
}

func (v *chatVoice) delta(d openai.Delta, tokens []openai.TokenLogprob) {
	choice := openai.ChunkChoice{Delta: d}
	if len(tokens) > 0 {
		choice.Logprobs = &openai.ChatLogprobs{Content: tokens}
	}
	v.out.send(event(v.head.chunk(choice)))
}

func (v *chatVoice) progress(p openai.Progress) {
	v.last.Store(&p)
	if v.tell {
		v.out.send(v.progressEvent(&p))
	}
}

func (v *chatVoice) progressEvent(p *openai.Progress) []byte {
	chunk := v.head.chunk(openai.ChunkChoice{})
	chunk.Progress = p
	return event(chunk)
}

// keepAlive is what is sent into a silence.
func (v *chatVoice) keepAlive(kind KeepAlive) []byte {
	p := v.last.Load()
	switch {
	case p != nil && (kind == KeepAliveProgress || v.tell):
		return v.progressEvent(p)
	case kind == KeepAliveDelta || kind == KeepAliveProgress:
		return event(v.head.chunk(openai.ChunkChoice{}))
	}
	return []byte(": keep-alive\n\n")
}

func (v *chatVoice) say(e text.Event, tokens []openai.TokenLogprob) {
	v.reply.say(e, nil)
	switch e.Kind {
	case text.EventText:
		v.delta(openai.Delta{Content: &e.Text}, tokens)
	case text.EventReasoning:
		v.delta(openai.Delta{Reasoning: e.Text}, nil)
	case text.EventCallStart:
		call := v.calls[e.Index]
		call.Index = &e.Index
		v.delta(openai.Delta{ToolCalls: []openai.ToolCall{call}}, nil)
	case text.EventCallArguments:
		part := openai.ToolCall{Index: &e.Index, Function: openai.FunctionCall{Arguments: e.Text}}
		v.delta(openai.Delta{ToolCalls: []openai.ToolCall{part}}, nil)
	case text.EventMalformed:
		if e.Index < 0 {
			v.delta(openai.Delta{Content: &e.Err.Raw}, nil)
		}
	}
}
