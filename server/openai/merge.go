package openai

import (
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/core"
	model "github.com/fieldfare/fieldfare/text"
)

// merge makes a conversation that the chat format has a place for, by the rules of the package's comment. media are
// the pictures in the order of their places.
func (r *reader) merge(in []Message) (out []model.Message, media []core.Media, err *Error) {
	in = joinSystem(in)
	answers := r.assign(in)
	add := func(m Message) {
		out = append(out, m.Message)
		media = append(media, m.Images...)
	}
	for i, m := range in {
		switch {
		case m.Role != model.RoleTool:
			add(m)
			r.addAnswers(in, i, answers[i], add)
		case m.ToolCallID == "":
			if len(m.Images) > 0 {
				return nil, nil, refuse(CodeUnsupportedContent, m.at, "a picture in a result that answers no call")
			}
			r.note("%s: the result answers no call; it stands in a turn of the model's own", m.at)
			add(orphan(m))
		}
	}
	return out, media, nil
}

// joinSystem renames roles and makes one message of the leading system messages.
func joinSystem(in []Message) []Message {
	for i := range in {
		switch in[i].Role {
		case model.RoleDeveloper:
			in[i].Role = model.RoleSystem
		case "function":
			in[i].Role = model.RoleTool
		}
	}
	n := 0
	for n < len(in) && in[n].Role == model.RoleSystem {
		n++
	}
	if n < 2 {
		return in
	}
	var texts []string
	for _, m := range in[:n] {
		if s := plainText(m.Content); s != "" {
			texts = append(texts, s)
		}
	}
	first := in[0]
	first.Content = model.Plain(strings.Join(texts, "\n\n"))
	return append([]Message{first}, in[n:]...)
}

func plainText(c model.Content) string {
	var b strings.Builder
	for _, p := range c.Parts() {
		b.WriteString(p.Text)
	}
	return b.String()
}

// An open call is one that no result has answered yet.
type openCall struct {
	message, call int
	answered      bool
}

// assign finds the call that each result answers. It gives all calls ids of its own, because clients use one id for
// several calls, and returns per message the results of its calls. Results without a call lose their id.
func (r *reader) assign(in []Message) map[int][]int {
	answers := make(map[int][]int)
	var calls []*openCall
	ids := make(map[*openCall]string) // as the client called them
	for i := range in {
		m := &in[i]
		for c := range m.ToolCalls {
			call := &openCall{message: i, call: c}
			ids[call] = m.ToolCalls[c].ID
			m.ToolCalls[c].ID = strconv.Itoa(len(calls))
			calls = append(calls, call)
		}
		if m.Role != model.RoleTool {
			continue
		}
		call := findCall(in, calls, ids, m)
		if call == nil {
			m.ToolCallID = ""
			continue
		}
		call.answered = true
		m.ToolCallID = in[call.message].ToolCalls[call.call].ID
		answers[call.message] = append(answers[call.message], i)
	}
	return answers
}

// findCall returns the latest call with the id of the result m, or without an id the first unanswered one of its name
// in the latest message that has one.
func findCall(in []Message, calls []*openCall, ids map[*openCall]string, m *Message) *openCall {
	var found *openCall
	for i := len(calls) - 1; i >= 0; i-- {
		c := calls[i]
		switch {
		case m.ToolCallID != "":
			if ids[c] == m.ToolCallID {
				return c
			}
		case found != nil && c.message != found.message:
			return found
		case !c.answered && m.Name != "" && in[c.message].ToolCalls[c.call].Name == m.Name:
			found = c
		}
	}
	return found
}

// addAnswers adds the results of message i, and empty ones for calls that have none.
func (r *reader) addAnswers(in []Message, i int, results []int, add func(Message)) {
	answered := make(map[string]bool)
	for _, at := range results {
		answered[in[at].ToolCallID] = true
		add(in[at])
	}
	for _, call := range in[i].ToolCalls {
		if !answered[call.ID] {
			r.note("%s: the call of %s has no result; an empty one stands for it", in[i].at, shorten(call.Name))
			add(Message{Message: model.Message{Role: model.RoleTool, ToolCallID: call.ID, Name: call.Name}})
		}
	}
}

// orphan makes a result without a call part of a turn of the model's own.
func orphan(m Message) Message {
	response := model.ToolResponse{Name: m.Name, Response: model.StringValue(plainText(m.Content))}
	return Message{at: m.at, Message: model.Message{
		Role: model.RoleAssistant, ToolResponses: []model.ToolResponse{response},
	}}
}
