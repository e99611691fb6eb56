package text

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
)

var loadChatTokenizer = sync.OnceValues(func() (*Tokenizer, error) {
	data, err := os.ReadFile("../testdata/checkpoint/tokenizer.json")
	if err != nil {
		return nil, err
	}
	return LoadTokenizer(data)
})

// chatTokenizer is the demo model's tokenizer, loaded once: fuzz targets need it for every input.
func chatTokenizer(tb testing.TB) *Tokenizer {
	tb.Helper()
	tok, err := loadChatTokenizer()
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// A chatCase is one entry of testdata/chat/cases.json, which testdata/chat/make.py writes.
type chatCase struct {
	Name       string
	Messages   []caseMessage
	Tools      []caseTool
	Thinking   bool
	Generation bool
	T3, T4     *string // what the Jinja files give, nil where they fail
}

type caseMessage struct {
	Role             Role
	Content          Value
	Reasoning        string
	ReasoningContent string `json:"reasoning_content"`
	ToolCalls        []struct {
		ID       string
		Function struct {
			Name      string
			Arguments Value
		}
	} `json:"tool_calls"`
	ToolResponses []ToolResponse `json:"tool_responses"`
	ToolCallID    string         `json:"tool_call_id"`
	Name          string
}

type caseTool struct{ Function Tool }

func readChatCases(tb testing.TB) []chatCase {
	tb.Helper()
	data, err := os.ReadFile("../testdata/chat/cases.json")
	if err != nil {
		tb.Fatal(err)
	}
	var cases []chatCase
	if err := json.Unmarshal(data, &cases); err != nil {
		tb.Fatal(err)
	}
	return cases
}

func (c chatCase) conversation() Conversation {
	out := Conversation{Thinking: c.Thinking, AddGenerationPrompt: c.Generation}
	for _, t := range c.Tools {
		out.Tools = append(out.Tools, t.Function)
	}
	for _, m := range c.Messages {
		out.Messages = append(out.Messages, m.message())
	}
	return out
}

func (m caseMessage) message() Message {
	out := Message{
		Role: m.Role, Content: caseContent(m.Content), Reasoning: m.Reasoning,
		ToolResponses: m.ToolResponses, ToolCallID: m.ToolCallID, Name: m.Name,
	}
	if out.Reasoning == "" {
		out.Reasoning = m.ReasoningContent
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, ToolCall{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return out
}

func caseContent(v Value) Content {
	switch v.Kind() {
	case KindNull:
		return Content{}
	case KindString:
		return Plain(v.text)
	}
	var parts []Part
	for _, p := range v.Items() {
		parts = append(parts, Part{Image: p.at("type").text == "image", Text: p.at("text").text})
	}
	return List(parts...)
}
