package text

import (
	"fmt"
	"strings"
)

// message writes message i and the tool messages behind it that answer its calls; it returns how many those are.
func (r *renderer) message(i int) (results int, err error) {
	m := r.messages[i]
	if m.Role == RoleTool {
		return 0, fmt.Errorf("%w: this result answers no call of the message before it", ErrNoPlace)
	}
	role := string(m.Role)
	if m.Role == RoleAssistant {
		role = roleOfModel
	}
	if role != roleOfModel || r.previousRole(i) != RoleAssistant {
		r.openTurn(role)
	}
	if m.Reasoning != "" && i > r.lastUser && (r.template == T4 || len(m.ToolCalls) > 0) {
		r.special(markChannel)
		r.literal(channelFirstLine)
		r.user(m.Reasoning)
		r.literal("\n")
		r.special(markChannelEnd)
	}
	if err := r.calls(m.ToolCalls); err != nil {
		return 0, err
	}
	answers := len(m.ToolResponses)
	for _, response := range m.ToolResponses {
		r.response(defaultName(response.Name), response.Response)
	}
	if answers == 0 && len(m.ToolCalls) > 0 {
		for next := i + 1; next < len(r.messages) && r.messages[next].Role == RoleTool; next++ {
			if err := r.toolMessage(m.ToolCalls, r.messages[next]); err != nil {
				return 0, fmt.Errorf("result in message %d: %w", r.dropped+next, err)
			}
			results++
		}
		answers = results
	}
	hasText, hasImage := r.content(m.Content, role)
	r.endMessage(i, answers > 0, hasText || hasImage, hasImage)
	return results, nil
}

// previousRole returns the role of the last message before i that is not a tool message.
func (r *renderer) previousRole(i int) Role {
	for i--; i >= 0; i-- {
		if r.messages[i].Role != RoleTool {
			return r.messages[i].Role
		}
	}
	return ""
}

// nextRole returns the role of the first message after i that is not a tool message.
func (r *renderer) nextRole(i int) Role {
	for i++; i < len(r.messages); i++ {
		if r.messages[i].Role != RoleTool {
			return r.messages[i].Role
		}
	}
	return ""
}

// endMessage closes the turn of message i, or leaves it open for what comes next.
func (r *renderer) endMessage(i int, answered, hasContent, hasImage bool) {
	m := r.messages[i]
	waiting := len(m.ToolCalls) > 0 && !answered
	r.state = turnClosed
	switch {
	case r.template == T3 && hasImage: // T3 forgets calls and results when an image follows them
	case waiting:
		r.state = turnAtCall
	case answered:
		r.state = turnAtResponses
	}
	next := r.nextRole(i)
	model := m.Role == RoleAssistant || m.Role == roleOfModel
	switch {
	case waiting && (r.template == T4 || !hasImage):
		r.special(markResponse)
	case r.template == T3 && answered && !hasContent:
	case r.template == T4 && model && next == RoleAssistant:
	case r.template == T4 && answered && !hasContent && next == "":
	default:
		r.closeTurn()
	}
}

// content writes what is said in a message, each part trimmed on its own.
func (r *renderer) content(c Content, role string) (hasText, hasImage bool) {
	for _, p := range c.parts {
		if p.Image {
			r.image()
			hasImage = true
			continue
		}
		s := p.Text
		if role == roleOfModel {
			s = withoutThoughts(s)
		}
		s = strip(s)
		r.user(s)
		hasText = hasText || s != ""
	}
	return hasText, hasImage
}

// withoutThoughts cuts thoughts out of the text of an earlier answer. A thought that does not end reaches to the
// end of the text; an end without a beginning disappears.
func withoutThoughts(s string) string {
	var b strings.Builder
	for _, piece := range strings.Split(s, markChannelEnd) {
		before, _, _ := strings.Cut(piece, markChannel)
		b.WriteString(before)
	}
	return b.String()
}

func (r *renderer) calls(calls []ToolCall) error {
	for _, call := range calls {
		if k := call.Arguments.Kind(); k != KindObject && k != KindNull {
			return fmt.Errorf("%w: call of %q: expected an object, found %.40q",
				ErrArguments, call.Name, call.Arguments.String())
		}
		r.special(markCall)
		r.literal(callTextPrefix)
		r.user(call.Name)
		r.object(call.Arguments.Members())
		r.special(markCallEnd)
	}
	return nil
}

// toolMessage writes a result that came as a message of its own. Text is quoted as one string and never read as
// JSON; images come behind the result.
func (r *renderer) toolMessage(calls []ToolCall, m Message) error {
	name := m.Name
	for _, call := range calls {
		if call.ID == m.ToolCallID { // the last one counts; no id equals no id
			name = call.Name
		}
	}
	if name == "" && r.template == T3 {
		return fmt.Errorf("%w: no call has the id %q and the result has no name", ErrResultName, m.ToolCallID)
	}
	body := Value{}
	images := 0
	if !m.Content.IsNull() {
		var text strings.Builder
		for _, p := range m.Content.parts {
			text.WriteString(p.Text)
			if p.Image {
				images++
			}
		}
		body = StringValue(text.String())
	}
	r.response(defaultName(name), body)
	for range images {
		r.image()
	}
	return nil
}

func defaultName(name string) string {
	if name == "" {
		return "unknown"
	}
	return name
}

func (r *renderer) response(name string, body Value) {
	r.special(markResponse)
	r.literal(resultTextPrefix)
	r.user(name)
	if body.Kind() == KindObject {
		r.object(body.Members())
	} else {
		r.literal("{value:")
		r.value(body)
		r.literal("}")
	}
	r.special(markResponseEnd)
}
