package openai

import (
	"errors"
	"strings"
	"testing"
)

const user = `"messages":[{"role":"user","content":"Hi"}]`

// refusal decodes a chat request that must be refused.
func refusal(t *testing.T, body string) *Error {
	t.Helper()
	_, err := DecodeChat([]byte(body), Options{Vocab: 100, Images: Images{Most: 2, MostBytes: 10}})
	var refused *Error
	if !errors.As(err, &refused) {
		t.Fatalf("%s: got %v, want a refusal", body, err)
	}
	return refused
}

func TestRefusedRequests(t *testing.T) {
	for _, c := range []struct{ name, body, code, param string }{
		{"no JSON", `{`, CodeInvalidJSON, ""},
		{"text behind the JSON", `{} x`, CodeInvalidJSON, ""},
		{"nothing", ``, CodeInvalidJSON, ""},
		{"an array", `[]`, CodeInvalidType, ""},
		{"depth beyond the limit", strings.Repeat("[", 101) + strings.Repeat("]", 101), CodeInvalidJSON, ""},
		{"no messages", `{}`, CodeMissing, "messages"},
		{"empty messages", `{"messages":[]}`, CodeInvalidValue, "messages"},
		{"messages of another type", `{"messages":"Hi"}`, CodeInvalidType, "messages"},
		{"an unknown field", `{` + user + `,"tempature":1}`, CodeUnknownParameter, "tempature"},
		{"an unknown field that is null", `{` + user + `,"tempature":null}`, CodeUnknownParameter, "tempature"},
		{"an unknown field of a message", `{"messages":[{"role":"user","contents":"Hi"}]}`, CodeUnknownParameter, "messages[0].contents"},
		{"an unknown stream option", `{` + user + `,"stream_options":{"x":1}}`, CodeUnknownParameter, "stream_options.x"},
		{"a field twice", `{` + user + `,"n":1,"n":1}`, CodeDuplicate, "n"},
		{"case counts", `{` + user + `,"Temperature":1}`, CodeUnknownParameter, "Temperature"},
		{"a number as text", `{` + user + `,"temperature":"1"}`, CodeInvalidType, "temperature"},
		{"temperature above 2", `{` + user + `,"temperature":2.1}`, CodeInvalidValue, "temperature"},
		{"temperature below 0", `{` + user + `,"temperature":-0.1}`, CodeInvalidValue, "temperature"},
		{"a number beyond float64", `{` + user + `,"temperature":1e999}`, CodeInvalidValue, "temperature"},
		{"max_tokens 0", `{` + user + `,"max_tokens":0}`, CodeInvalidValue, "max_tokens"},
		{"max_tokens with a fraction", `{` + user + `,"max_tokens":1.5}`, CodeInvalidValue, "max_tokens"},
		{"a seed beyond 64 bits", `{` + user + `,"seed":99999999999999999999}`, CodeInvalidValue, "seed"},
		{"two answers", `{` + user + `,"n":2}`, CodeUnsupportedValue, "n"},
		{"an empty stop text", `{` + user + `,"stop":["a",""]}`, CodeInvalidValue, "stop[1]"},
		{"too many stop texts", `{` + user + `,"stop":["a"` + strings.Repeat(`,"b"`, 16) + `]}`, CodeInvalidValue, "stop[16]"},
		{"bias for no id", `{` + user + `,"logit_bias":{"x":1}}`, CodeInvalidValue, "logit_bias.x"},
		{"bias for an id beyond the vocabulary", `{` + user + `,"logit_bias":{"100":1}}`, CodeInvalidValue, "logit_bias.100"},
		{"bias beyond 100", `{` + user + `,"logit_bias":{"1":101}}`, CodeInvalidValue, "logit_bias.1"},
		{"top_logprobs without logprobs", `{` + user + `,"top_logprobs":2}`, CodeInvalidValue, "top_logprobs"},
		{"top_logprobs beyond 20", `{` + user + `,"logprobs":true,"top_logprobs":21}`, CodeInvalidValue, "top_logprobs"},
		{"a format that would have to be enforced", `{` + user + `,"response_format":{"type":"json_schema","json_schema":{}}}`, CodeUnsupportedValue, "response_format.type"},
		{"JSON mode", `{` + user + `,"response_format":{"type":"json_object"}}`, CodeUnsupportedValue, "response_format.type"},
		{"an unknown format", `{` + user + `,"response_format":{"type":"xml"}}`, CodeInvalidValue, "response_format.type"},
		{"a required call", `{` + user + `,"tool_choice":"required"}`, CodeUnsupportedValue, "tool_choice"},
		{"a named function", `{` + user + `,"tool_choice":{"type":"function","function":{"name":"f"}}}`, CodeUnsupportedValue, "tool_choice"},
		{"an unknown choice", `{` + user + `,"tool_choice":"maybe"}`, CodeInvalidValue, "tool_choice"},
		{"a tool that is no function", `{` + user + `,"tools":[{"type":"web_search"}]}`, CodeUnsupportedValue, "tools[0].type"},
		{"a tool without a name", `{` + user + `,"tools":[{"type":"function","function":{}}]}`, CodeInvalidValue, "tools[0].function.name"},
		{"a tool name that is syntax", `{` + user + `,"tools":[{"type":"function","function":{"name":"a{b"}}]}`, CodeInvalidValue, "tools[0].function.name"},
		{"a tool twice", `{` + user + `,"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]}`, CodeDuplicate, "tools[1].function.name"},
		{"functions of old", `{` + user + `,"functions":[]}`, CodeUnsupported, "functions"},
		{"sound", `{` + user + `,"audio":{"voice":"x"}}`, CodeUnsupported, "audio"},
		{"answers as sound", `{` + user + `,"modalities":["text","audio"]}`, CodeUnsupportedValue, "modalities[1]"},
		{"web search", `{` + user + `,"web_search_options":{}}`, CodeUnsupported, "web_search_options"},
		{"predicted output", `{` + user + `,"prediction":{}}`, CodeUnsupported, "prediction"},
		{"an unknown effort", `{` + user + `,"reasoning_effort":"huge"}`, CodeInvalidValue, "reasoning_effort"},
		{"an unknown template argument", `{` + user + `,"chat_template_kwargs":{"x":1}}`, CodeUnknownParameter, "chat_template_kwargs.x"},
		{"a message without a role", `{"messages":[{"content":"Hi"}]}`, CodeMissing, "messages[0].role"},
		{"an unknown role", `{"messages":[{"role":"robot","content":"Hi"}]}`, CodeInvalidValue, "messages[0].role"},
		{"content of another type", `{"messages":[{"role":"user","content":5}]}`, CodeInvalidType, "messages[0].content"},
		{"calls of a user", `{"messages":[{"role":"user","tool_calls":[]}]}`, CodeInvalidValue, "messages[0]"},
		{"a call without a function", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}]}`, CodeMissing, "messages[0].tool_calls[0].function"},
		{"a part without a type", `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`, CodeMissing, "messages[0].content[0].type"},
		{"sound in a message", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}]}`, CodeUnsupportedContent, "messages[0].content[0]"},
		{"a file in a message", `{"messages":[{"role":"user","content":[{"type":"file","file":{}}]}]}`, CodeUnsupportedContent, "messages[0].content[0]"},
		{"a refusal of a user", `{"messages":[{"role":"user","content":[{"type":"refusal","refusal":"no"}]}]}`, CodeUnsupportedContent, "messages[0].content[0]"},
		{"a picture of the assistant", `{"messages":[{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"data:,x"}}]}]}`, CodeUnsupportedContent, "messages[0].content[0]"},
		{"a picture in the system message", `{"messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"data:,x"}}]}]}`, CodeUnsupportedContent, "messages[0].content[0]"},
		{"a path where files are not opened", `{"messages":[{"role":"user","content":[{"type":"image_file","path":"/etc/passwd"}]}]}`, CodeUnsupportedContent, "messages[0].content[0]"},
		{"an unknown detail", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,x","detail":"huge"}}]}]}`, CodeInvalidValue, "messages[0].content[0].image_url.detail"},
		{"a picture without a URL", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}`, CodeMissing, "messages[0].content[0].image_url.url"},
		{"too many pictures", `{"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"image_url","image_url":"data:,x"},`, 2) + `{"type":"image_url","image_url":"data:,x"}]}]}`, CodeTooManyImages, "messages[0].content[2]"},
		{"a picture that is too large", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:,12345678901"}]}]}`, CodeImageTooLarge, "messages[0].content[0]"},
		{"a picture in a result that answers no call", `{"messages":[{"role":"tool","tool_call_id":"x","content":[{"type":"image_url","image_url":"data:,x"}]}]}`, CodeUnsupportedContent, "messages[0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := refusal(t, c.body)
			param := ""
			if e.Param != nil {
				param = *e.Param
			}
			if e.Code != c.code || param != c.param || e.Type != TypeInvalidRequest {
				t.Errorf("got code %q, param %q: %s; want %q, %q", e.Code, param, e.Message, c.code, c.param)
			}
		})
	}
}

// TestEveryFieldIsKnown goes through the request fields of OpenAI's reference: no name may be unknown, whatever
// becomes of its value.
func TestEveryFieldIsKnown(t *testing.T) {
	for _, name := range []string{
		"messages", "model", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
		"max_completion_tokens", "max_tokens", "metadata", "modalities", "moderation", "n", "parallel_tool_calls",
		"prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
		"reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
		"stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
		"web_search_options",
	} {
		body := `{` + user + `,"` + name + `":null}`
		if name == "messages" {
			body = `{` + user + `}`
		}
		if _, err := DecodeChat([]byte(body), Options{}); err != nil {
			t.Errorf("%s as null: %v", name, err)
		}
	}
	for _, name := range []string{
		"prompt", "model", "best_of", "echo", "frequency_penalty", "logit_bias", "logprobs", "max_tokens", "n",
		"presence_penalty", "seed", "stop", "stream", "stream_options", "suffix", "temperature", "top_p", "user",
	} {
		body := `{"prompt":"a","` + name + `":null}`
		if name == "prompt" {
			body = `{"prompt":"a"}`
		}
		if _, err := DecodeCompletion([]byte(body), Options{}); err != nil {
			t.Errorf("completion: %s as null: %v", name, err)
		}
	}
}

func TestHonouredFieldsArrive(t *testing.T) {
	c, err := DecodeChat([]byte(` {`+user+`,"model":"m","temperature":0.5,"top_p":0.25,"top_k":7,"min_p":0.125,"presence_penalty":1,
		"frequency_penalty":-1,"repetition_penalty":1.5,"seed":-1,"stop":["a","b"],"max_tokens":5.0,"logprobs":true,"top_logprobs":4,
		"logit_bias":{"3":-2.5},"stream":true,"stream_options":{"include_usage":true},"return_progress":true,
		"parallel_tool_calls":false,"reasoning_effort":"high"} `), Options{Vocab: 10})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Generate.Sampling
	if s.Temperature != 0.5 || s.TopP != 0.25 || s.TopK != 7 || s.MinP != 0.125 || s.PresencePenalty != 1 ||
		s.FrequencyPenalty != -1 || s.RepetitionPenalty != 1.5 || s.Seed != 1<<64-1 || s.Bias[3] != -2.5 {
		t.Errorf("sampling %+v", s)
	}
	if c.Model != "m" || !c.Seeded || len(c.Stop) != 2 || c.Generate.MaxTokens != 5 || !c.Generate.Logprobs || c.Generate.TopLogprobs != 4 ||
		!c.Stream || !c.IncludeUsage || !c.ReturnProgress || !c.OneCall || !c.Conversation.Thinking {
		t.Errorf("request %+v", c)
	}
}

func TestCompletionPrompts(t *testing.T) {
	for _, c := range []struct {
		name, prompt, text string
		tokens             int
		code               string
	}{
		{"a text", `"abc"`, "abc", 0, ""},
		{"an empty text", `""`, "", 0, ""},
		{"one text in a list", `["abc"]`, "abc", 0, ""},
		{"token ids", `[1,2,3]`, "", 3, ""},
		{"one list of token ids", `[[1,2]]`, "", 2, ""},
		{"two texts", `["a","b"]`, "", 0, CodeUnsupportedValue},
		{"an id beyond the vocabulary", `[10]`, "", 0, CodeInvalidValue},
		{"a negative id", `[-1]`, "", 0, CodeInvalidValue},
		{"an empty list", `[]`, "", 0, CodeInvalidValue},
		{"an object", `{}`, "", 0, CodeInvalidType},
		{"a list of objects", `[{}]`, "", 0, CodeInvalidType},
		{"texts among ids", `[1,"a"]`, "", 0, CodeInvalidType},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeCompletion([]byte(`{"prompt":`+c.prompt+`}`), Options{Vocab: 10})
			if c.code != "" {
				var refused *Error
				if !errors.As(err, &refused) || refused.Code != c.code {
					t.Fatalf("got %v, want code %s", err, c.code)
				}
				return
			}
			if err != nil || got.Prompt != c.text || len(got.Tokens) != c.tokens {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestTokenizeRequests(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"content":"a"}`: true, `{"prompt":"a","add_special_tokens":true}`: true, `{}`: false, `{"content":1}`: false, `[]`: false,
	} {
		if _, err := DecodeTokenize([]byte(body)); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, ok := range map[string]bool{
		`{"tokens":[1,2]}`: true, `{"tokens":[]}`: true, `{}`: false, `{"tokens":[10]}`: false, `{"tokens":"a"}`: false,
	} {
		if _, err := DecodeDetokenize([]byte(body), 10); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}
