package core

import (
	"errors"
	"fmt"
)

// A Prompt is a conversation laid out as tokens: what Session.Prefill takes. Runtime.Prepare makes one from chat
// messages; a raw completion needs Tokens only. Positions equal indices into Tokens.
type Prompt struct {
	Tokens []int32
	// Spans are the soft tokens of the attachments, ascending; the ids in Tokens there are placeholders.
	Spans []Span
	// Media are the attachments that Spans point to, in order.
	Media []Media
	// Reports holds what the extension said about each of Media.
	Reports []any
	// Turns are positions where a turn starts, ascending: where a later prompt is likely to part from this one.
	Turns []int
	// InThought says that the prompt ends inside a thought, where the model's first token goes on.
	InThought bool
}

// A ContextError refuses a prompt that does not fit. It wraps ErrContextLength.
type ContextError struct {
	Prompt  int // tokens of the prompt, soft tokens included
	Soft    int // soft tokens among them
	Context int // positions that the runtime was loaded with
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("prompt has %d tokens (%d of them for attachments), the context holds %d", e.Prompt, e.Soft, e.Context)
}

func (e *ContextError) Unwrap() error { return ErrContextLength }

// softTokens counts the positions inside spans.
func (p *Prompt) softTokens() int {
	n := 0
	for _, s := range p.Spans {
		n += s.Hi - s.Lo
	}
	return n
}

// check reports whether p can run at all: ids in the vocabulary, spans in order, at least one token after the last
// span (its logits start the answer), everything inside the context.
func (p *Prompt) check(vocab, maxSpan, maxContext int) error {
	if len(p.Tokens) == 0 {
		return fmt.Errorf("%w: the prompt is empty", ErrNoPrompt)
	}
	if len(p.Tokens) > maxContext {
		return &ContextError{Prompt: len(p.Tokens), Soft: p.softTokens(), Context: maxContext}
	}
	for i, id := range p.Tokens {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%w: %d at position %d, the vocabulary has %d", ErrToken, id, i, vocab)
		}
	}
	at := 0
	var problems []error
	for i, s := range p.Spans {
		switch {
		case s.Lo < at || s.Hi <= s.Lo || s.Hi >= len(p.Tokens):
			problems = append(problems, fmt.Errorf("%w: span %d is [%d, %d) after position %d of %d", ErrSpan, i, s.Lo, s.Hi, at, len(p.Tokens)))
		case s.Hi-s.Lo > maxSpan:
			problems = append(problems, fmt.Errorf("%w: span %d has %d soft tokens, the runtime was sized for %d", ErrSpan, i, s.Hi-s.Lo, maxSpan))
		case s.Media < 0 || s.Media >= len(p.Media):
			problems = append(problems, fmt.Errorf("%w: span %d names attachment %d of %d", ErrSpan, i, s.Media, len(p.Media)))
		}
		at = s.Hi
	}
	return errors.Join(problems...)
}
