package server

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/text"
)

// inputTokens says what a chat request would cost. It computes nothing and waits for nobody.
func (s *Server) inputTokens(c echo.Context) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	body, release, err := s.body(c)
	if err != nil {
		return err
	}
	defer release()
	rq, err := openai.DecodeChat(body, m.decode)
	if err != nil {
		return err
	}
	if err := m.check(rq.Model); err != nil {
		return err
	}
	p, err := s.prepare(c.Request().Context(), m, rq)
	var tooLong *core.ContextError
	if err != nil && (p == nil || !errors.As(err, &tooLong)) {
		return err
	}
	return c.JSON(http.StatusOK, s.cost(m, p, rq.Notes))
}

func (s *Server) cost(m *model, p *core.Prompt, notes []string) *openai.InputTokens {
	j := &job{prompt: p}
	n := &openai.InputTokens{
		Object: "chat.completion.input_tokens", Total: len(p.Tokens), Image: j.encodedTokens(0),
		ContextWindow: m.rt.MaxContext(), Notes: notes,
	}
	n.Text = n.Total - n.Image
	n.Fits = n.Total <= n.ContextWindow
	n.RoomForAnswer = max(0, n.ContextWindow-n.Total)
	if n.Fits {
		n.Reusable = m.conversations.reusable(p)
		if seconds, ok := s.pace.prompt(n.Total-n.Reusable, j.encodedTokens(n.Reusable)); ok {
			n.ExpectedSeconds = &seconds
		}
	}
	n.Images = receipts(p, n.Reusable)
	return n
}

// applyTemplate shows the text that a chat request becomes. It is for people: encoding it again would make control
// tokens of what users typed.
func (s *Server) applyTemplate(c echo.Context) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	body, release, err := s.body(c)
	if err != nil {
		return err
	}
	defer release()
	rq, err := openai.DecodeChat(body, m.decode)
	if err != nil {
		return err
	}
	template, _ := m.rt.Template()
	rq.Conversation.AddGenerationPrompt = true
	pieces, err := template.Render(rq.Conversation)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"prompt": text.PiecesText(pieces), "notes": rq.Notes})
}

// tokenize gives the ids of a text, in which nothing is a control token.
func (s *Server) tokenize(c echo.Context) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	body, release, err := s.body(c)
	if err != nil {
		return err
	}
	defer release()
	rq, err := openai.DecodeTokenize(body)
	if err != nil {
		return err
	}
	t := m.rt.Tokenizer()
	ids := []int32{}
	if rq.AddSpecial {
		ids = append(ids, beginning(t)...)
	}
	ids = t.EncodeAppend(ids, rq.Text)
	answer := map[string]any{"tokens": ids, "count": len(ids), "max_model_len": m.rt.MaxContext()}
	if rq.WithPieces {
		pieces := make([]piece, len(ids))
		for i, id := range ids {
			pieces[i] = piece{id, string(tokenBytes(t, id))}
		}
		answer["pieces"] = pieces
	}
	return c.JSON(http.StatusOK, answer)
}

// A piece is a token with its text; bytes that are no text of their own become U+FFFD.
type piece struct {
	ID    int32  `json:"id"`
	Piece string `json:"piece"`
}

// detokenize gives the text of ids, control tokens left out.
func (s *Server) detokenize(c echo.Context) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	body, release, err := s.body(c)
	if err != nil {
		return err
	}
	defer release()
	ids, err := openai.DecodeDetokenize(body, m.rt.Config().Vocab)
	if err != nil {
		return err
	}
	content := m.rt.Tokenizer().Decode(ids)
	return c.JSON(http.StatusOK, map[string]string{"content": content, "prompt": content})
}
