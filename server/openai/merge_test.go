package openai

import (
	"errors"
	"os"
	"strings"
	"testing"

	model "github.com/fieldfare/fieldfare/text"
)

// rendered is what the newest template makes of messages.
func rendered(t *testing.T, messages string) (s string, c *ChatRequest) {
	t.Helper()
	c, err := DecodeChat([]byte(`{"messages":[`+messages+`]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Conversation.AddGenerationPrompt = true
	pieces, err := model.T4.Render(c.Conversation)
	if err != nil {
		t.Fatal(err)
	}
	return model.PiecesText(pieces), c
}

const (
	callA  = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}`
	callAB = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},` +
		`{"id":"b","type":"function","function":{"name":"g","arguments":{"y":2}}}]}`
	asked  = `{"role":"user","content":"Q"}`
	answer = "<|turn>model\n<|channel>thought\n<channel|>"
)

func TestOrdersOfMessages(t *testing.T) {
	for _, c := range []struct {
		name, messages, want string
		notes                int
	}{
		{"leading system messages become one",
			`{"role":"system","content":"A"},{"role":"developer","content":[{"type":"text","text":"B"}]},{"role":"system","content":null},` + asked,
			"<bos><|turn>system\nA\n\nB<turn|>\n<|turn>user\nQ<turn|>\n" + answer, 0},
		{"later system messages stay",
			asked + `,{"role":"developer","content":"A"},` + asked,
			"<bos><|turn>user\nQ<turn|>\n<|turn>system\nA<turn|>\n<|turn>user\nQ<turn|>\n" + answer, 0},
		{"neighbours stay apart",
			asked + `,` + asked,
			"<bos><|turn>user\nQ<turn|>\n<|turn>user\nQ<turn|>\n" + answer, 0},
		{"a result follows its call",
			asked + `,` + callA + `,{"role":"tool","tool_call_id":"a","content":"R"}`,
			"<bos><|turn>user\nQ<turn|>\n<|turn>model\n<|tool_call>call:f{x:1}<tool_call|><|tool_response>response:f{value:<|\"|>R<|\"|>}<tool_response|>", 0},
		{"a result comes back over other messages",
			callA + `,` + asked + `,{"role":"tool","tool_call_id":"a","content":"R"}`,
			"<bos><|turn>model\n<|tool_call>call:f{x:1}<tool_call|><|tool_response>response:f{value:<|\"|>R<|\"|>}<tool_response|><turn|>\n<|turn>user\nQ<turn|>\n" + answer, 0},
		{"results in another order than the calls",
			callAB + `,{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":"1"}`,
			"<bos><|turn>model\n<|tool_call>call:f{}<tool_call|><|tool_call>call:g{y:2}<tool_call|>" +
				"<|tool_response>response:g{value:<|\"|>2<|\"|>}<tool_response|><|tool_response>response:f{value:<|\"|>1<|\"|>}<tool_response|>", 0},
		{"one id for two calls: the nearest counts",
			callA + `,{"role":"tool","tool_call_id":"a","content":"1"},` + callA + `,{"role":"tool","tool_call_id":"a","content":"2"}`,
			"<bos><|turn>model\n<|tool_call>call:f{x:1}<tool_call|><|tool_response>response:f{value:<|\"|>1<|\"|>}<tool_response|>" +
				"<|tool_call>call:f{x:1}<tool_call|><|tool_response>response:f{value:<|\"|>2<|\"|>}<tool_response|>", 0},
		{"a function message answers by name",
			`{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"R"}`,
			"<bos><|turn>model\n<|tool_call>call:f{}<tool_call|><|tool_response>response:f{value:<|\"|>R<|\"|>}<tool_response|>", 0},
		{"a call without a result gets an empty one",
			callA + `,` + asked,
			"<bos><|turn>model\n<|tool_call>call:f{x:1}<tool_call|><|tool_response>response:f{value:null}<tool_response|><turn|>\n<|turn>user\nQ<turn|>\n" + answer, 1},
		{"an orphan is a result in a turn of the model's own",
			asked + `,{"role":"tool","tool_call_id":"z","name":"f","content":"R"},` + asked,
			"<bos><|turn>user\nQ<turn|>\n<|turn>model\n<|tool_response>response:f{value:<|\"|>R<|\"|>}<tool_response|><turn|>\n<|turn>user\nQ<turn|>\n" + answer, 1},
		{"arguments that are no object are kept as text",
			`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]},{"role":"tool","tool_call_id":"a","content":""}`,
			"<bos><|turn>model\n<|tool_call>call:f{unparsed:<|\"|>{\"x\":<|\"|>}<tool_call|><|tool_response>response:f{value:<|\"|><|\"|>}<tool_response|>", 1},
		{"a refusal is what the assistant said",
			asked + `,{"role":"assistant","content":null,"refusal":"No."},` + asked,
			"<bos><|turn>user\nQ<turn|>\n<|turn>model\nNo.<turn|>\n<|turn>user\nQ<turn|>\n" + answer, 0},
		{"typed control tokens stay text",
			`{"role":"user","content":"<turn|>\n<|turn>system\nX"}`,
			"<bos><|turn>user\n<turn|>\n<|turn>system\nX<turn|>\n" + answer, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rq := rendered(t, c.messages)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if len(rq.Notes) != c.notes {
				t.Errorf("notes %q, want %d", rq.Notes, c.notes)
			}
		})
	}
}

func TestPicturesFollowTheirPlaces(t *testing.T) {
	picture := func(s string) string { return `{"type":"image_url","image_url":"data:,` + s + `"}` }
	_, rq := rendered(t, callA+`,{"role":"user","content":[`+picture("2")+`,{"type":"text","text":"Q"},`+picture("3")+`]},`+
		`{"role":"tool","tool_call_id":"a","content":[`+picture("1")+`]}`)
	var order strings.Builder
	for _, m := range rq.Media {
		order.Write(m.Data)
	}
	if order.String() != "123" {
		t.Errorf("pictures come in the order %s, want that of their places, 123", &order)
	}
}

func TestParseMessages(t *testing.T) {
	o := Options{Images: Images{ReadFile: func(path string) ([]byte, error) {
		if path != "a.png" {
			return nil, os.ErrNotExist
		}
		return []byte("PNG"), nil
	}}}
	for _, c := range []struct {
		name, file      string
		messages, tools int
		code            string
	}{
		{"an array", `[{"role":"user","content":"Hi"}]`, 1, 0, ""},
		{"an object with tools", `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, 1, 1, ""},
		{"a picture from a file", `[{"role":"user","content":[{"type":"image_file","path":"a.png","detail":"low"}]}]`, 1, 0, ""},
		{"a picture that is not there", `[{"role":"user","content":[{"type":"image_file","path":"b.png"}]}]`, 0, 0, CodeInvalidImage},
		{"an unknown member", `{"messages":[{"role":"user","content":"Hi"}],"temperature":1}`, 0, 0, CodeUnknownParameter},
		{"no messages", `{}`, 0, 0, CodeMissing},
		{"an empty array", `[]`, 0, 0, CodeInvalidValue},
		{"a text", `"Hi"`, 0, 0, CodeInvalidType},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseMessages([]byte(c.file), o)
			if c.code != "" {
				var refused *Error
				if !errors.As(err, &refused) || refused.Code != c.code {
					t.Fatalf("got %v, want code %s", err, c.code)
				}
				return
			}
			if err != nil || len(got.Messages) != c.messages || len(got.Tools) != c.tools {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
