package server

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
)

// chat answers a conversation.
func (s *Server) chat(c echo.Context) error {
	started := time.Now()
	m, rq, prompt, release, err := s.readChat(c)
	if err != nil {
		return err
	}
	defer release()
	j, err := s.newJob(m, prompt, &rq.Common, started)
	if err != nil {
		return err
	}
	defer j.ticket.leave()
	j.opts.Tools, j.oneCall = rq.Conversation.Tools, rq.OneCall
	head := chatHead{
		id: "chatcmpl-" + s.opts.NewID(), created: s.opts.Now().Unix(), model: m.id(), fingerprint: m.fingerprint,
	}
	if rq.Stream {
		return s.streamChat(c, j, rq, head)
	}
	r := &reply{newID: s.opts.NewID, logprobs: rq.Generate.Logprobs}
	a, err := j.run(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, head.completion(r, j, &a))
}

// readChat reads the request and lays its prompt out. Errors of the request are found here, before anything waits.
func (s *Server) readChat(c echo.Context) (
	m *model, rq *openai.ChatRequest, p *core.Prompt, release func(), err error,
) {
	if m, err = s.ready(); err != nil {
		return nil, nil, nil, nil, err
	}
	body, release, err := s.body(c)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if rq, err = openai.DecodeChat(body, m.decode); err == nil {
		if err = m.check(rq.Model); err == nil {
			p, err = s.prepare(c.Request().Context(), m, rq)
		}
	}
	if err != nil {
		release()
		return nil, nil, nil, nil, err
	}
	return m, rq, p, release, nil
}

// prepare lays out the prompt of rq. A prompt that is too long comes with its core.ContextError.
func (s *Server) prepare(ctx context.Context, m *model, rq *openai.ChatRequest) (*core.Prompt, error) {
	if err := rq.Generate.Validate(m.rt.Config().Vocab); err != nil {
		return nil, err
	}
	p, err := m.rt.Prepare(ctx, rq.Conversation, rq.Media)
	if err != nil && len(rq.Media) > 0 && ctx.Err() == nil && !known(err) {
		err = &admissionError{err}
	}
	return p, err
}

// chatHead is what all events of one answer share.
type chatHead struct {
	id, model, fingerprint string
	created                int64
}

func (h chatHead) completion(r *reply, j *job, a *account) *openai.ChatCompletion {
	choice := openai.ChatChoice{Message: r.answer(), Finish: string(a.Finish)}
	if r.logprobs {
		choice.Logprobs = &openai.ChatLogprobs{Content: r.tokens}
	}
	return &openai.ChatCompletion{
		ID: h.id, Object: "chat.completion", Created: h.created, Model: h.model, Fingerprint: h.fingerprint,
		Choices: []openai.ChatChoice{choice}, Usage: j.usage(a), Extension: j.extension(a, r.malformed),
	}
}

func (h chatHead) chunk(choices ...openai.ChunkChoice) *openai.ChatChunk {
	if choices == nil {
		choices = []openai.ChunkChoice{} // clients read a list
	}
	return &openai.ChatChunk{
		ID: h.id, Object: "chat.completion.chunk", Created: h.created, Model: h.model, Fingerprint: h.fingerprint,
		Choices: choices,
	}
}
