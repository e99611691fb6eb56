package core_test

import (
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
)

// A chat on the demo whose answers are longer than the rings can go back: every follow-up takes its prefix over, up
// to the answer that the template rewrites, and gives the bits of a cold run.
func TestFollowUpsReuseTheConversation(t *testing.T) {
	var cases []chatCase
	readJSON(t, "../testdata/eval-text.json", &cases)
	ask := func(id string) *chatCase {
		i := slices.IndexFunc(cases, func(c chatCase) bool { return c.ID == id })
		if i < 0 {
			t.Fatalf("no question %s", id)
		}
		return &cases[i]
	}
	const slack = 32 // positions that the rings, of 63 + 32 rows, can go back without saved rows
	rt := loadDemo(t, func(o *core.Options) { o.PrefillChunk = slack })
	s := newSession(t, rt)
	// "copy" repeats a list: the answer overwrites every row. (What the tiny model says
	// to such a mixture is not always right; here only its bits count.)
	longest := slices.MaxFunc(cases, func(a, b chatCase) int {
		return len(a.Expected)*btoi(a.Kind == "copy") - len(b.Expected)*btoi(b.Kind == "copy")
	}).ID
	c := text.Conversation{}
	held := 0
	for turn, id := range []string{longest, "facts-0", longest, "arith-1"} {
		q := ask(id).conversation(t).Messages
		c.Messages = append(c.Messages, q[len(q)-1])
		p, err := rt.Prepare(t.Context(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := prefill(t, s, p)
		if out.Reuse.Tokens != held {
			t.Errorf("turn %d: %v, want %d tokens", turn, out.Reuse, held)
		}
		sameBits(t, "logits", s.Logits(), cold(t, rt, p))
		held = p.Turns[len(p.Turns)-1]
		ids := answer(t, s, 400)
		if id == longest && len(ids) < 150 {
			t.Fatalf("an answer of %d tokens tests nothing", len(ids))
		}
		said := rt.Tokenizer().Decode(ids)
		c.Messages = append(c.Messages, text.Message{Role: text.RoleAssistant, Content: text.Plain(said)})
		if end := len(p.Tokens) + len(ids) - 1; end-(held+3) <= slack {
			held += 3 // what the prompts agree on: turn, role, newline
		}
	}
}

// Thinking leaves no trace in the history, so the next prompt parts from what the session holds early.
func TestFollowUpsAfterThoughts(t *testing.T) {
	rt := loadDemo(t, nil)
	s := newSession(t, rt)
	c := text.Conversation{Thinking: true}
	for turn, q := range []string{"What is 31 + 45?", "What is 12 + 7?", "What is the capital of Norway?"} {
		c.Messages = append(c.Messages, text.Message{Role: text.RoleUser, Content: text.Plain(q)})
		p, err := rt.Prepare(t.Context(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := prefill(t, s, p)
		if turn > 0 && out.Reuse.Tokens < p.Turns[len(p.Turns)-3] {
			t.Errorf("turn %d: %v", turn, out.Reuse)
		}
		sameBits(t, "logits", s.Logits(), cold(t, rt, p))
		var visible string
		got, err := s.Answer(t.Context(), p, core.AnswerOptions{}, func(e text.Event, _ core.Token) error {
			if e.Kind == text.EventText {
				visible += e.Text
			}
			return nil
		})
		if err != nil || visible == "" || got.Result.Finish != core.FinishStop {
			t.Fatalf("turn %d: answered %q, %+v, %v", turn, visible, got, err)
		}
		c.Messages = append(c.Messages, text.Message{Role: text.RoleAssistant, Content: text.Plain(visible)})
	}
}
