package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A Template is one published form of the Gemma 4 chat format. Both are written out here and checked against
// their Jinja files; no Jinja is run.
type Template uint8

const (
	// T3 is the template of 2026-05-18, which the 26B checkpoint carries. Its quirks are kept.
	T3 Template = iota
	// T4 is the newer form, as the demo model carries it.
	T4
)

// newestTemplate stands in for a template file that we do not know.
const newestTemplate = T4

var templateBySHA256 = map[string]Template{
	"36e3a42e5cf14cd0020e72d92e1fdd9970f59b82170e421f0cbe1bb42bead3f0": T3,
	"1a05601e34f4135950cc597ee1d6177b69c8b226ac5c5ac6e335608c2993e4a0": T4,
}

// String returns the template's short name.
func (t Template) String() string {
	if t == T3 {
		return "T3"
	}
	return "T4"
}

// TemplateFor chooses the template by the content of an install's chat_template.jinja. A file that we do not know
// gets the newest form, and notice says so in one sentence; otherwise notice is empty.
func TemplateFor(jinja []byte) (t Template, notice string) {
	if len(jinja) == 0 {
		notice = fmt.Sprintf("the model has no chat template; using %v, the newest form known", newestTemplate)
		return newestTemplate, notice
	}
	sum := sha256.Sum256(jinja)
	digest := hex.EncodeToString(sum[:])
	if t, known := templateBySHA256[digest]; known {
		return t, ""
	}
	return newestTemplate, fmt.Sprintf("the model's chat template (sha256 %.12s…) is not known; using %v, the newest form",
		digest, newestTemplate)
}

// Render lays out a conversation as the template does, piece by piece.
//
// Where the Jinja file would leave something of a message out (a tool result that answers no call, an image in
// the system message), or would fail, Render returns an error instead: ErrNoPlace, ErrNoMessages (T3 only),
// ErrArguments, ErrResultName (T3 only; T4 writes "unknown"). Two things are left out by design: earlier
// reasoning, and thoughts inside the text of earlier answers.
//
// Names and keys are written as they are, for the format has no quoting for them: one that holds a brace, colon
// or comma reads as something else to the model, though never as a control token.
func (t Template) Render(c Conversation) ([]Piece, error) {
	r := renderer{template: t, thinking: c.Thinking, messages: c.Messages}
	if err := r.render(c); err != nil {
		return nil, err
	}
	return r.pieces, nil
}

type renderer struct {
	pieceWriter
	template Template
	thinking bool
	messages []Message // without the leading system message
	dropped  int       // messages before messages[0], for error messages
	lastUser int       // index of the last user message, -1 if there is none
	state    turnState // after the last message that opened or continued a turn
}

// turnState says how a message left its turn, which decides on the generation prompt.
type turnState uint8

const (
	turnClosed      turnState = iota
	turnAtCall                // calls wait for their results
	turnAtResponses           // the model goes on from results
)

func (r *renderer) render(c Conversation) error {
	if len(c.Messages) == 0 && r.template == T3 {
		return ErrNoMessages
	}
	r.special(markBOS)
	if err := r.systemTurn(c); err != nil {
		return err
	}
	r.lastUser = -1
	for i, m := range r.messages {
		if m.Role == RoleUser {
			r.lastUser = i
		}
	}
	for i := 0; i < len(r.messages); {
		results, err := r.message(i)
		if err != nil {
			return fmt.Errorf("message %d (%s): %w", r.dropped+i, r.messages[i].Role, err)
		}
		i += 1 + results
	}
	if c.AddGenerationPrompt {
		r.generationPrompt()
	}
	return nil
}

// systemTurn writes the first turn, which holds what the model has to know beforehand.
func (r *renderer) systemTurn(c Conversation) error {
	first := len(c.Messages) > 0 && (c.Messages[0].Role == RoleSystem || c.Messages[0].Role == RoleDeveloper)
	if !first && !c.Thinking && len(c.Tools) == 0 {
		return nil
	}
	r.openTurn(string(RoleSystem))
	if c.Thinking {
		r.special(markThink)
		r.literal("\n")
	}
	if first {
		if err := r.systemContent(c.Messages[0].Content); err != nil {
			return fmt.Errorf("message 0 (%s): %w", c.Messages[0].Role, err)
		}
		r.messages = c.Messages[1:]
		r.dropped = 1
	}
	for _, tool := range c.Tools {
		r.special(markTool)
		r.declaration(tool)
		r.special(markToolEnd)
	}
	r.closeTurn()
	return nil
}

func (r *renderer) systemContent(c Content) error {
	for _, p := range c.parts {
		if p.Image {
			return fmt.Errorf("%w: an image in the leading system message", ErrNoPlace)
		}
		r.user(strip(p.Text))
		if c.form == contentList {
			r.literal(" ")
		}
	}
	return nil
}

func (r *renderer) openTurn(role string) {
	r.special(markTurn)
	r.user(role)
	r.literal("\n")
}

func (r *renderer) closeTurn() {
	r.special(markTurnEnd)
	r.literal("\n")
}

// generationPrompt opens the model's turn. With thinking off an empty thought keeps the model from thinking; with
// thinking on it opens the thought itself. After a call or a result the model goes on in its own turn.
func (r *renderer) generationPrompt() {
	switch {
	case r.state == turnClosed:
		r.openTurn(roleOfModel)
		if !r.thinking {
			r.special(markChannel)
			r.literal(channelFirstLine)
			r.special(markChannelEnd)
		}
	case r.state == turnAtResponses && r.thinking && r.template == T4:
		r.special(markChannel)
		r.literal(channelFirstLine)
	}
}
