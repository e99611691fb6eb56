package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/text"
)

// complete continues a text without the chat format.
func (s *Server) complete(c echo.Context) error {
	started := time.Now()
	m, err := s.ready()
	if err != nil {
		return err
	}
	body, release, err := s.body(c)
	if err != nil {
		return err
	}
	defer release()
	rq, err := openai.DecodeCompletion(body, m.decode)
	if err != nil {
		return err
	}
	if err := m.check(rq.Model); err != nil {
		return err
	}
	prompt, err := rawPrompt(m.rt, rq)
	if err != nil {
		return err
	}
	j, err := s.newJob(m, prompt, &rq.Common, started)
	if err != nil {
		return err
	}
	defer j.ticket.leave()
	j.raw = true
	v := &rawVoice{head: openai.Completion{
		ID: "cmpl-" + s.opts.NewID(), Object: "text_completion", Created: s.opts.Now().Unix(), Model: m.id(),
		Fingerprint: m.fingerprint,
	}}
	if rq.Echo {
		v.echo = m.rt.Tokenizer().Decode(prompt.Tokens)
	}
	if rq.Stream {
		return s.streamRaw(c, j, rq, v)
	}
	a, err := j.run(c.Request().Context(), v)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.completion(j, &a))
}

// rawPrompt makes tokens of the prompt: text begins with the token that begins all texts.
func rawPrompt(rt *core.Runtime, rq *openai.CompletionRequest) (*core.Prompt, error) {
	p := &core.Prompt{Tokens: rq.Tokens}
	if p.Tokens == nil {
		p.Tokens = rt.Tokenizer().EncodeAppend(beginning(rt.Tokenizer()), rq.Prompt)
	}
	if n := len(p.Tokens); n > rt.MaxContext() {
		return nil, &core.ContextError{Prompt: n, Context: rt.MaxContext()}
	}
	return p, nil
}

// beginning is the token that begins all texts, if the model has one.
func beginning(t *text.Tokenizer) []int32 {
	if id, ok := t.Special("<bos>"); ok {
		return []int32{id}
	}
	return nil
}

// rawVoice speaks a raw completion, collected or as events.
type rawVoice struct {
	head   openai.Completion
	echo   string // the prompt, to come first
	text   string
	tokens []openai.TokenLogprob
	out    *stream // nil: collect only
	tell   bool
	last   atomic.Pointer[openai.Progress]
}

func (v *rawVoice) progress(p openai.Progress) {
	v.last.Store(&p)
	if v.tell && v.out != nil {
		v.out.send(v.event("", nil, nil, &p))
	}
}

func (v *rawVoice) say(e text.Event, tokens []openai.TokenLogprob) {
	if v.out != nil {
		v.out.send(v.event(e.Text, rawLogprobs(tokens, len(v.echo)+len(v.text)), nil, nil))
	}
	v.text += e.Text
	v.tokens = append(v.tokens, tokens...)
}

func (v *rawVoice) event(s string, l *openai.CompletionLogprobs, finish *string, p *openai.Progress) []byte {
	chunk := v.head
	chunk.Choices = []openai.CompletionChoice{{Text: s, Logprobs: l, Finish: finish}}
	chunk.Progress = p
	return event(chunk)
}

func (v *rawVoice) completion(j *job, a *account) *openai.Completion {
	out, finish := v.head, string(a.Finish)
	out.Choices = []openai.CompletionChoice{{
		Text: v.echo + v.text, Logprobs: rawLogprobs(v.tokens, len(v.echo)), Finish: &finish,
	}}
	out.Usage, out.Extension = j.usage(a), j.extension(a, nil)
	return &out
}

// streamRaw answers with events.
func (s *Server) streamRaw(c echo.Context, j *job, rq *openai.CompletionRequest, v *rawVoice) error {
	ctx, lost := context.WithCancelCause(c.Request().Context())
	defer lost(nil)
	v.tell = rq.ReturnProgress
	v.out = s.startStream(c, v.keepAlive(s.opts.KeepAlive), lost)
	defer v.out.end()
	v.out.send(v.event(v.echo, nil, nil, nil))
	a, err := j.run(ctx, v)
	if err != nil {
		s.endStream(c, v.out, err)
		return nil
	}
	last, finish := v.head, string(a.Finish)
	last.Choices = []openai.CompletionChoice{{Finish: &finish}}
	last.Extension = j.extension(&a, nil)
	v.out.send(event(last))
	if rq.IncludeUsage {
		usage := v.head
		usage.Choices, usage.Usage = []openai.CompletionChoice{}, j.usage(&a)
		v.out.send(event(usage))
	}
	v.out.send(endMarker)
	return nil
}

func (v *rawVoice) keepAlive(kind KeepAlive) func() []byte {
	return func() []byte {
		p := v.last.Load()
		switch {
		case p != nil && (kind == KeepAliveProgress || v.tell):
			return v.event("", nil, nil, p)
		case kind == KeepAliveDelta || kind == KeepAliveProgress:
			return v.event("", nil, nil, nil)
		}
		return []byte(": keep-alive\n\n")
	}
}

// rawLogprobs are tokens in the form of raw completions, the first at offset at of the text.
func rawLogprobs(tokens []openai.TokenLogprob, at int) *openai.CompletionLogprobs {
	if len(tokens) == 0 {
		return nil
	}
	l := new(openai.CompletionLogprobs)
	for _, t := range tokens {
		top := make(map[string]float64)
		for _, o := range t.Top {
			top[o.Token] = o.Logprob
		}
		l.Tokens, l.Logprobs = append(l.Tokens, t.Token), append(l.Logprobs, t.Logprob)
		l.Top, l.Offsets = append(l.Top, top), append(l.Offsets, at)
		at += len(t.Token)
	}
	return l
}
