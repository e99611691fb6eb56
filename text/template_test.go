package text

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestRenderEqualsJinja compares every conversation with what Jinja made of it. The cases E1 to D11 are the
// worked examples of the format's description.
func TestRenderEqualsJinja(t *testing.T) {
	cases := readChatCases(t)
	if len(cases) < 200 {
		t.Fatalf("only %d conversations in testdata/chat/cases.json", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for template, want := range map[Template]*string{T3: c.T3, T4: c.T4} {
				pieces, err := template.Render(c.conversation())
				switch {
				case want == nil && err == nil:
					t.Errorf("%v: Jinja fails, Render does not: %q", template, PiecesText(pieces))
				case want != nil && err != nil:
					t.Errorf("%v: %v", template, err)
				case want != nil && PiecesText(pieces) != *want:
					t.Errorf("%v:\n got %q\nwant %q", template, PiecesText(pieces), *want)
				}
			}
		})
	}
}

func TestTemplateForChoosesByHash(t *testing.T) {
	demo, err := os.ReadFile("../testdata/checkpoint/chat_template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		jinja  []byte
		want   Template
		notice string
	}{
		{"the demo's file is T4", demo, T4, ""},
		{"a changed file gets the newest with a notice", append([]byte(" "), demo...), T4, "is not known; using T4"},
		{"no file gets the newest with a notice", nil, T4, "has no chat template; using T4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, notice := TemplateFor(test.jinja)
			if got != test.want || (test.notice == "") != (notice == "") || !strings.Contains(notice, test.notice) {
				t.Errorf("TemplateFor = %v, %q", got, notice)
			}
		})
	}
	if T3.String() != "T3" || templateBySHA256["36e3a42e5cf14cd0020e72d92e1fdd9970f59b82170e421f0cbe1bb42bead3f0"] != T3 {
		t.Error("the 26B checkpoint's file is not T3")
	}
}

func TestRenderRefusesWhatTheTemplateWouldDrop(t *testing.T) {
	call := Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "1", Name: "f"}}}
	result := Message{Role: RoleTool, ToolCallID: "1", Content: Plain("r")}
	user := Message{Role: RoleUser, Content: Plain("q")}
	own := call
	own.ToolResponses = []ToolResponse{{Name: "f"}}
	text := call
	text.ToolCalls = []ToolCall{{ID: "1", Name: "f", Arguments: StringValue("{}")}}
	for _, test := range []struct {
		name     string
		messages []Message
		t3, t4   error
		where    string
	}{
		{"no messages", nil, ErrNoMessages, nil, ""},
		{"result without a call", []Message{user, result}, ErrNoPlace, ErrNoPlace, "message 1 (tool)"},
		{"result behind a user", []Message{call, user, result}, ErrNoPlace, ErrNoPlace, "message 2 (tool)"},
		{"result beside own results", []Message{own, result}, ErrNoPlace, ErrNoPlace, "message 1 (tool)"},
		{"image in the system message", []Message{{Role: RoleSystem, Content: List(Part{Image: true})}, user},
			ErrNoPlace, ErrNoPlace, "message 0 (system)"},
		{"arguments as text", []Message{text}, ErrArguments, ErrArguments, `call of "f"`},
		{"result of nothing", []Message{call, {Role: RoleTool, Content: Plain("r")}}, ErrResultName, nil, "message 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for template, want := range map[Template]error{T3: test.t3, T4: test.t4} {
				_, err := template.Render(Conversation{Messages: test.messages})
				if !errors.Is(err, want) {
					t.Errorf("%v: got %v, want %v", template, err, want)
				}
				if err != nil && !strings.Contains(err.Error(), test.where) {
					t.Errorf("%v: %q does not say %q", template, err, test.where)
				}
			}
		})
	}
}

func TestOpensThought(t *testing.T) {
	for _, c := range readChatCases(t) {
		pieces, err := T4.Render(c.conversation())
		if err != nil {
			t.Fatal(err)
		}
		text := PiecesText(pieces)
		want := strings.HasSuffix(text, "<|channel>thought\n") && c.Thinking && c.Generation
		if got := OpensThought(pieces); got != want {
			t.Errorf("%s: OpensThought = %v for %q", c.Name, got, text)
		}
	}
}
