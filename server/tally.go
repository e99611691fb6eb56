package server

import (
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/text"
)

// A tally sorts tokens by what they turned out to be. A token may bring no event at first: part of a character, the
// beginning of a stop text, syntax. It is counted with the next event.
type tally struct {
	tokenizer *text.Tokenizer
	logprobs  bool
	special   bool // the last token was a control token
	pending   int
	waiting   []openai.TokenLogprob
	reasoning int
}

func newTally(t *text.Tokenizer, o *core.GenerateOptions) *tally {
	return &tally{tokenizer: t, logprobs: o.Logprobs}
}

// token takes a token before its events. What a control token has not turned into an event was syntax around it.
func (t *tally) token(k core.Token) {
	if t.special {
		t.pending, t.waiting = 0, nil
	}
	if t.special = t.tokenizer.IsSpecial(k.ID); t.special {
		return
	}
	t.pending++
	if !t.logprobs {
		return
	}
	p := t.logprob(core.TokenLogprob{ID: k.ID, Logprob: k.Logprob})
	for _, other := range k.Top {
		p.Top = append(p.Top, t.logprob(other))
	}
	t.waiting = append(t.waiting, p)
}

// event returns the log-probabilities that belong to a visible text.
func (t *tally) event(kind text.EventKind) []openai.TokenLogprob {
	tokens := t.waiting
	if kind == text.EventReasoning {
		t.reasoning += t.pending
	}
	if kind == text.EventStray {
		return nil
	}
	t.pending, t.waiting = 0, nil
	if kind != text.EventText {
		return nil
	}
	return tokens
}

func (t *tally) logprob(p core.TokenLogprob) openai.TokenLogprob {
	bytes := tokenBytes(t.tokenizer, p.ID)
	out := openai.TokenLogprob{Token: strings.ToValidUTF8(string(bytes), "\uFFFD"), Logprob: p.Logprob}
	for _, b := range bytes {
		out.Bytes = append(out.Bytes, int(b))
	}
	return out
}

// tokenBytes returns the bytes that a token stands for: tokens of single bytes are no text of their own.
func tokenBytes(t *text.Tokenizer, id int32) []byte {
	name := t.Token(id)
	if len(name) == len("<0xFF>") && strings.HasPrefix(name, "<0x") && name[5] == '>' {
		if b, err := strconv.ParseUint(name[3:5], 16, 8); err == nil {
			return []byte{byte(b)}
		}
	}
	return []byte(strings.ReplaceAll(name, "▁", " "))
}
