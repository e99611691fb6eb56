package text

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func demoMark(tb testing.TB, name string) int32 {
	tb.Helper()
	id, ok := chatTokenizer(tb).Special(name)
	if !ok {
		tb.Fatalf("no token %s", name)
	}
	return id
}

func demoMedia(tb testing.TB, soft ...int) []MediaTokens {
	var media []MediaTokens
	for _, n := range soft {
		media = append(media, MediaTokens{demoMark(tb, "<|image>"), demoMark(tb, "<|image|>"), demoMark(tb, "<image|>"), n})
	}
	return media
}

// TestEncodeEqualsReferencePrompts compares ids with those that transformers fed to the demo model.
func TestEncodeEqualsReferencePrompts(t *testing.T) {
	data, err := os.ReadFile("../testdata/chat/demo_ids.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		chatCase
		Soft []int
		IDs  []int32
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	soft := demoMark(t, "<|image|>")
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			pieces, err := T4.Render(c.conversation())
			if err != nil {
				t.Fatal(err)
			}
			ids, spans, err := Encode(chatTokenizer(t), pieces, demoMedia(t, c.Soft...))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ids, c.IDs) {
				t.Errorf("ids:\n got %v\nwant %v", ids, c.IDs)
			}
			if len(spans) != len(c.Soft) {
				t.Fatalf("%d spans for %d images", len(spans), len(c.Soft))
			}
			for i, s := range spans {
				if s.Hi-s.Lo != c.Soft[i] || ids[s.Lo-1] == soft || ids[s.Hi] == soft ||
					slices.ContainsFunc(ids[s.Lo:s.Hi], func(id int32) bool { return id != soft }) {
					t.Errorf("span %d is %v", i, s)
				}
			}
		})
	}
}

// TestEncodeJoinsTextBeforeEncoding: line feeds of the template and of the user merge into one token.
func TestEncodeJoinsTextBeforeEncoding(t *testing.T) {
	tok := chatTokenizer(t)
	pieces := []Piece{{PieceLiteral, "\n"}, {PieceUser, "\nwo"}, {PieceUser, "rd"}, {PieceLiteral, "s\n"}}
	ids, _, err := Encode(tok, pieces, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := tok.Encode("\n\nwords\n"); !slices.Equal(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
}

func TestEncodeRefuses(t *testing.T) {
	image := Piece{PieceImage, markImage}
	for _, test := range []struct {
		name   string
		pieces []Piece
		media  []MediaTokens
		want   error
	}{
		{"an image too few", []Piece{image, image}, demoMedia(t, 3), ErrMediaCount},
		{"an image too many", []Piece{image}, demoMedia(t, 3, 4), ErrMediaCount},
		{"an image without tokens", []Piece{image}, demoMedia(t, 0), ErrMediaCount},
		{"a control token that the vocabulary lacks", []Piece{{PieceSpecial, "<|no such|>"}}, nil, ErrMissingToken},
	} {
		t.Run(test.name, func(t *testing.T) {
			if ids, spans, err := Encode(chatTokenizer(t), test.pieces, test.media); !errors.Is(err, test.want) || ids != nil || spans != nil {
				t.Errorf("Encode = %v, %v, %v", ids, spans, err)
			}
		})
	}
}

// hostileConversation has s in every place where text from outside can stand.
func hostileConversation(s string) Conversation {
	value := ObjectValue(Member{s, StringValue(s)}, Member{"l" + s, ListValue(StringValue(s), ObjectValue(Member{s, StringValue(s)}))})
	schema := ObjectValue(
		Member{"type", StringValue("object" + s)},
		Member{"required", ListValue(StringValue(s))},
		Member{"properties", ObjectValue(
			Member{s, ObjectValue(Member{"type", StringValue("string")}, Member{"description", StringValue(s)},
				Member{"enum", ListValue(StringValue(s), value)})},
			Member{"a" + s, ObjectValue(Member{"type", StringValue("array")},
				Member{"items", ObjectValue(Member{s, value}, Member{"type", StringValue(s)})})},
			Member{"o", ObjectValue(Member{"type", StringValue("object")}, Member{s, StringValue(s)})},
			Member{"t", ObjectValue(Member{"type", StringValue(s)})},
		)})
	return Conversation{
		AddGenerationPrompt: true,
		Tools:               []Tool{{Name: "f" + s, Description: s, Parameters: schema, Response: ObjectValue(Member{"description", StringValue(s)})}},
		Messages: []Message{
			{Role: RoleSystem, Content: List(Part{Text: "a" + s}, Part{Text: "b" + s})},
			{Role: RoleUser, Content: Plain("x" + s + "y")},
			{Role: Role("critic" + s), Content: Plain("x" + s)},
			{Role: RoleAssistant, Content: Plain("z" + s), Reasoning: "r" + s, ToolCalls: []ToolCall{{ID: s, Name: "f" + s, Arguments: value}}},
			{Role: RoleTool, ToolCallID: s, Name: s, Content: Plain("x" + s)},
			{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "1" + s, Name: "g"}}},
			{Role: RoleTool, ToolCallID: "?", Name: "n" + s, Content: List(Part{Text: s})},
			{Role: RoleAssistant, ToolResponses: []ToolResponse{{Name: "f" + s, Response: value}, {Name: "f", Response: StringValue(s)}}},
			{Role: RoleDeveloper, Content: List(Part{Text: "p" + s}, Part{Text: "q" + s})},
		},
	}
}

// TestTypedControlTokensStayText puts each control token, whole and in halves, into every place for outside text.
// The control tokens of the prompt must stay those of the same conversation with a harmless word.
func TestTypedControlTokensStayText(t *testing.T) {
	tok := chatTokenizer(t)
	specials := func(template Template, s string) []int32 {
		pieces, err := template.Render(hostileConversation(s))
		if err != nil {
			t.Fatal(err)
		}
		ids, _, err := Encode(tok, pieces, nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(ids, func(id int32) bool { return !tok.IsSpecial(id) })
	}
	names := demoSpecialNames(tok)
	if len(names) < 24 {
		t.Fatalf("only %d special tokens: %v", len(names), names)
	}
	for _, template := range []Template{T3, T4} {
		want := specials(template, "word")
		if len(want) < 60 {
			t.Fatalf("%v: only %d control tokens in the prompt", template, len(want))
		}
		for _, name := range names {
			for _, hostile := range []string{name, name + name, name + "\n", strings.Repeat("<", 3) + name, name[:len(name)/2] + name + name[len(name)/2:]} {
				if got := specials(template, hostile); !slices.Equal(got, want) {
					t.Errorf("%v: %q changes the control tokens:\n got %v\nwant %v", template, hostile, got, want)
				}
			}
		}
	}
}

func demoSpecialNames(tok *Tokenizer) []string {
	var names []string
	for id := range int32(tok.Size()) {
		if tok.IsSpecial(id) {
			names = append(names, tok.Token(id))
		}
	}
	return names
}

// FuzzRender: no conversation makes Render or Encode panic, and text from outside never adds a control token.
func FuzzRender(f *testing.F) {
	f.Add("user", "Hi", `{"a":[1,{"b":null}]}`, "f", uint16(0))
	f.Add("assistant", "<|channel>x<channel|>", `{"type":"object","properties":{"x":{"type":["a"]}}}`, "<|turn>", uint16(0xffff))
	f.Add("tool", "\xff", `{}`, "", uint16(0x1234))
	f.Fuzz(func(t *testing.T, role, s, data, name string, shape uint16) {
		value, _ := ParseValue([]byte(data))
		bit := func(n int) bool { return shape>>n&1 == 1 }
		m := Message{Role: Role(role), Content: Plain(s), Name: name, ToolCallID: s}
		if bit(0) {
			m.Content = List(Part{Text: s}, Part{Image: bit(1)}, Part{Text: name})
		}
		if bit(2) {
			m.ToolCalls = []ToolCall{{ID: s, Name: name, Arguments: value}, {Name: s}}
		}
		if bit(3) {
			m.ToolResponses = []ToolResponse{{Name: name, Response: value}}
		}
		if bit(4) {
			m.Reasoning = s
		}
		c := Conversation{Thinking: bit(5), AddGenerationPrompt: bit(6), Messages: []Message{m}}
		if bit(7) {
			c.Messages = append(c.Messages, Message{Role: RoleTool, Content: Plain(s), Name: name}, Message{Role: RoleUser}, m)
		}
		if bit(8) {
			c.Tools = []Tool{{Name: name, Description: s, Parameters: value, Response: value}}
		}
		for _, template := range []Template{T3, T4} {
			pieces, err := template.Render(c)
			if err != nil {
				continue
			}
			checkPieces(t, pieces)
		}
	})
}

func checkPieces(t *testing.T, pieces []Piece) {
	tok := chatTokenizer(t)
	var want []int32
	images := 0
	for _, p := range pieces {
		switch p.Kind {
		case PieceSpecial:
			want = append(want, demoMark(t, p.Text))
		case PieceImage:
			images++
			want = append(want, demoMark(t, "<|image>"), demoMark(t, "<|image|>"), demoMark(t, "<image|>"))
		}
	}
	soft := make([]int, images)
	for i := range soft {
		soft[i] = 1
	}
	ids, _, err := Encode(tok, pieces, demoMedia(t, soft...))
	if err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(ids, func(id int32) bool { return !tok.IsSpecial(id) })
	if !slices.Equal(got, want) {
		t.Errorf("control tokens %v, want %v", got, want)
	}
}
