package core

import (
	"context"
	"fmt"

	"github.com/fieldfare/fieldfare/text"
)

// chat is what the install says about words.
type chat struct {
	tokenizer *text.Tokenizer
	template  text.Template
	notice    string // a sentence for the user when the install's own template is not known
	turn      int32  // the id that starts a turn, -1 if there is none
}

// Tokenizer is the install's tokenizer.
func (r *Runtime) Tokenizer() *text.Tokenizer { return r.chat.tokenizer }

// Template is the chat format that the install asks for. notice is a sentence for the user when it is a guess.
func (r *Runtime) Template() (t text.Template, notice string) { return r.chat.template, r.chat.notice }

// Prepare lays a conversation out for the model's next answer: it renders the chat format, asks the extension about
// each attachment (from header bytes alone), and reserves the positions of their soft tokens. media are in the order
// of their places in the conversation. Nothing is decoded and the session is not touched; Prepare may run on any
// goroutine while sessions compute.
//
// A prompt that leaves no room in the context is refused with a ContextError; attachments without an extension with
// ErrNoMedia; what the extension refuses with its own error, which names the attachment.
func (r *Runtime) Prepare(ctx context.Context, c text.Conversation, media []Media) (*Prompt, error) {
	c.AddGenerationPrompt = true
	pieces, err := r.chat.template.Render(c)
	if err != nil {
		return nil, err
	}
	p := &Prompt{Media: media, InThought: text.OpensThought(pieces)}
	admitted, err := r.admit(ctx, p)
	if err != nil {
		return nil, err
	}
	ids, spans, err := text.Encode(r.chat.tokenizer, pieces, admitted.tokens)
	if err != nil {
		return nil, err
	}
	p.Tokens = ids
	for i, s := range spans {
		p.Spans = append(p.Spans, Span{Lo: s.Lo, Hi: s.Hi, Media: i, Digest: admitted.digests[i]})
	}
	for pos, id := range ids {
		if id == r.chat.turn {
			p.Turns = append(p.Turns, pos)
		}
	}
	return p, p.check(r.cfg.Vocab, r.maxRows, r.opts.MaxContext)
}

type admitted struct {
	tokens  []text.MediaTokens
	digests [][32]byte
}

// admit asks the extension about every attachment of p.
func (r *Runtime) admit(ctx context.Context, p *Prompt) (admitted, error) {
	var out admitted
	if len(p.Media) > 0 && r.hooks.admit == nil {
		return out, fmt.Errorf("%d attachments: %w", len(p.Media), ErrNoMedia)
	}
	for _, m := range p.Media {
		a, err := r.hooks.admit(ctx, m)
		if err != nil {
			return out, fmt.Errorf("%s: %w", m.Name, err)
		}
		if a.SoftTokens < 1 {
			panic("BUG: core: an attachment was admitted with no soft tokens")
		}
		p.Reports = append(p.Reports, a.Report)
		out.digests = append(out.digests, a.Digest)
		out.tokens = append(out.tokens, text.MediaTokens{Before: a.Before, Soft: a.Soft, After: a.After, N: a.SoftTokens})
	}
	return out, nil
}
