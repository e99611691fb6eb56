package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server"
)

// A dialogue is a conversation that grows by what the model answers.
type dialogue struct {
	messages []string
}

func (d *dialogue) user(s string) {
	d.messages = append(d.messages, `{"role":"user","content":`+quote(s)+`}`)
}

// body is a request for the next answer.
func (d *dialogue) body(more ...string) string {
	return `{"temperature":0,"messages":[` + strings.Join(d.messages, ",") + "]" + strings.Join(append([]string{""}, more...), ",") + "}"
}

// ask gets the next answer and keeps it.
func (d *dialogue) ask(s *testServer, question string, more ...string) chatAnswer {
	d.user(question)
	a := s.chat(d.body(more...))
	d.assistant(a.content())
	return a
}

func (d *dialogue) assistant(s string) {
	d.messages = append(d.messages, `{"role":"assistant","content":`+quote(s)+`}`)
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// questions of the kinds that the demo model knows, long and short.
func questions(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("What is %d + %d?", r.IntN(90), r.IntN(90))
	case 1:
		n := r.IntN(20)
		return fmt.Sprintf("Count from %d to %d.", n, n+5+r.IntN(25))
	case 2:
		return []string{"Hello", "What is the capital of Peru?", "What are you?", "Tell me the colour of milk."}[r.IntN(4)]
	}
	var list strings.Builder
	list.WriteString("Remember these codes:\n")
	for range 20 + r.IntN(40) {
		fmt.Fprintf(&list, "%s: %d\n", []string{"storm", "ghost", "letter", "vest", "thumb", "room"}[r.IntN(6)], 1000+r.IntN(9000))
	}
	return list.String() + "What is the code for ghost?"
}

// TestFollowUpsEqualColdRuns talks through a server that keeps conversations, and asks a second one, which has just
// started, for the same answer from nothing: text and log-probabilities are the same to the last bit.
func TestFollowUpsEqualColdRuns(t *testing.T) {
	warm := start(t)
	coldModel := loadDemo(t, core.Options{Extensions: []core.Extension{sight(t)}})
	t.Cleanup(func() { coldModel.Close() })
	r := rand.New(rand.NewPCG(7, 7))
	const logprobs = `"logprobs":true`
	for range 3 {
		var d dialogue
		last := 0
		for turn := range 4 {
			more := []string{logprobs}
			if turn == 2 {
				more = append(more, `"reasoning_effort":"low"`)
			}
			d.user(questions(r))
			body := d.body(more...)
			cold := startWithout(t)
			cold.SetModel(coldModel)
			a, b := warm.chat(body), cold.chat(body)
			d.assistant(a.content())
			if a.content() != b.content() || encode(t, a.Choices[0].Logprobs) != encode(t, b.Choices[0].Logprobs) {
				t.Fatalf("turn %d: warm %q, cold %q", turn, a.content(), b.content())
			}
			if reused := a.Usage.PromptDetails.Cached; turn == 1 && reused < last-8 {
				t.Errorf("turn %d: %d tokens reused, the conversation had %d", turn, reused, last)
			}
			last = a.Usage.Prompt
		}
	}
}

func TestSideRequestsLeaveTheConversation(t *testing.T) {
	for _, budget := range []int64{1 << 30, 7 << 20} { // many conversations, and two
		s := start(t, func(o *server.Options) { o.ConversationBytes = budget })
		var d dialogue
		d.ask(s, strings.Repeat("word ", 300)+"What is the capital of Peru?")
		for i := range 4 {
			s.chat(say(fmt.Sprintf("Generate a title. %d", i)))
			s.chat(say(fmt.Sprintf("Generate tags. %d", i)))
			size := len(strings.Join(d.messages, ""))
			a := d.ask(s, fmt.Sprintf("What is %d + 3?", i))
			if a.Usage.PromptDetails.Cached < 300 {
				t.Errorf("budget %d, turn %d: %d tokens reused of a conversation of %d bytes: %s", budget, i, a.Usage.PromptDetails.Cached, size, a.Extension.Reuse.End)
			}
		}
	}
}

func TestSeveralConversationsAreKept(t *testing.T) {
	s := start(t)
	dialogues := make([]dialogue, 5)
	for turn := range 3 {
		for i := range dialogues {
			a := dialogues[i].ask(s, fmt.Sprintf("Remember these codes:\nghost: %d\nWhat is the code for ghost?", 1000+100*i+turn))
			if turn > 0 && a.Usage.PromptDetails.Cached < 20*turn {
				t.Errorf("turn %d of conversation %d: %d tokens reused: %s", turn, i, a.Usage.PromptDetails.Cached, a.Extension.Reuse.End)
			}
		}
	}
}

func TestReplyTellsWhyReuseEnded(t *testing.T) {
	s := start(t)
	first := s.chat(say("Count from 1 to 9."))
	if first.Extension.Reuse.End != "nothing to reuse" {
		t.Errorf("the first prompt: %+v", first.Extension.Reuse)
	}
	same := s.chat(say("Count from 1 to 9."))
	if r := same.Extension.Reuse; r.End != "all reused" || r.Tokens != same.Usage.Prompt-1 {
		t.Errorf("the same prompt: %+v", r)
	}
	other := s.chat(say("Count from 1 to 8."))
	if r := other.Extension.Reuse; r.End != "another token" || r.Position != r.Tokens || r.Tokens < 5 {
		t.Errorf("another prompt: %+v", r)
	}
}

// TestRetryGoesOnWhereTheFirstStopped breaks a long prompt off and sends it again.
func TestRetryGoesOnWhereTheFirstStopped(t *testing.T) {
	s := start(t)
	long := say(strings.Repeat("word ", 700)+"What is the capital of Peru?", `"stream":true,"return_progress":true`)
	f := s.follow(t, long)
	f.until(`"phase":"prefill"`)
	f.until(`"phase":"prefill"`) // a chunk is done
	f.leave()
	s.waitIdle()
	chunks := s.stream(long)
	last := chunks[len(chunks)-1]
	if got := last.Extension.Reuse.Tokens; got < 128 {
		t.Errorf("%d tokens reused, a chunk of 128 was done", got)
	}
	cold := start(t)
	if a, b := collect(chunks), collect(cold.stream(long)); a.content != b.content {
		t.Errorf("the retry says %q, a cold run %q", a.content, b.content)
	}
}

// TestWorkEndsWhenTheClientLeaves leaves in each phase; what follows is answered at once, not after 4096 tokens.
func TestWorkEndsWhenTheClientLeaves(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ phase, body, sign string }{
		{"prefill", say(strings.Repeat("word ", 3000), `"stream":true,"return_progress":true`), `"phase":"prefill"`},
		{"decode", say("Count from 1 to 9.", `"stream":true`, endless), `"content":"2`},
	} {
		before := s.rt.Stats().Rows
		f := s.follow(t, c.body)
		f.until(c.sign)
		f.leave()
		s.waitIdle()
		if rows := s.rt.Stats().Rows - before; rows > 2000 {
			t.Errorf("%s: %d rows were computed", c.phase, rows)
		}
		if a := s.chat(say("Hello")); a.content() != "Hello! How can I help you?" {
			t.Errorf("after leaving in %s: %q", c.phase, a.content())
		}
	}
	running := s.follow(t, say("Count from 1 to 9.", `"stream":true`, endless))
	running.until(`"content":"1`)
	waiting := s.follow(t, say("Hello", `"stream":true`))
	waiting.until(`"role"`)
	waiting.leave()
	running.leave()
	s.waitIdle()
}
