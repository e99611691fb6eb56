package server_test

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/server"
)

const weatherTool = `{"type":"function","function":{"name":"get_weather","description":"Get the current weather for a city.",
	"parameters":{"type":"object","properties":{"city":{"type":"string","description":"City name"}}}}}`

func TestChatAnswers(t *testing.T) {
	s := start(t)
	a := s.chat(say("What is the capital of Peru?"))
	if a.content() != "The capital of Peru is Lima." || a.finish() != "stop" {
		t.Errorf("got %q, finish %q", a.content(), a.finish())
	}
	if u := a.Usage; u.Prompt != 20 || u.Completion != 7 || u.Total != 27 || u.PromptDetails.Cached != 0 {
		t.Errorf("usage %+v", u)
	}
}

func TestFinishReasons(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ name, body, content, finish string }{
		{"the model ends its turn", say("Hello"), "Hello! How can I help you?", "stop"},
		{"max_tokens cuts", say("Hello", `"max_tokens":2`), "Hello!", "length"},
		{"max_completion_tokens counts before max_tokens", say("Hello", `"max_tokens":100`, `"max_completion_tokens":1`), "Hello", "length"},
		{"a stop text ends and is left out", say("Hello", `"stop":"can"`), "Hello! How ", "stop"},
		{"the first of several stop texts", say("Hello", `"stop":["you","How"]`), "Hello! ", "stop"},
		{"null means unset", say("Hello", `"stop":null,"max_tokens":null,"tools":null,"seed":null,"logit_bias":null,"n":null,"user":null`), "Hello! How can I help you?", "stop"},
		{"a tool call", say("What is the weather in Lisbon?", `"tools":[`+weatherTool+`]`), "", "tool_calls"},
		{"a tool call cut by max_tokens", say("What is the weather in Lisbon?", `"max_tokens":6,"tools":[`+weatherTool+`]`),
			"<|tool_call>call:get_weather", "length"},
		{"a tool call cut inside its arguments", say("What is the weather in Lisbon?", `"max_tokens":9,"tools":[`+weatherTool+`]`), "", "length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.chat(c.body)
			if a.content() != c.content || a.finish() != c.finish {
				t.Errorf("got %q, finish %q; want %q, %q", a.content(), a.finish(), c.content, c.finish)
			}
		})
	}
}

func TestToolLoop(t *testing.T) {
	s := start(t)
	a := s.chat(say("What is the weather in Lisbon?", `"tools":[`+weatherTool+`]`))
	calls := a.Choices[0].Message.ToolCalls
	if len(calls) != 1 || calls[0].Function.Name != "get_weather" || calls[0].Function.Arguments != `{"city":"Lisbon"}` {
		t.Fatalf("calls %+v", calls)
	}
	if a.Choices[0].Message.Content != nil {
		t.Errorf("content is %q, want null beside a call", a.content())
	}
	follow := `{"temperature":0,"tools":[` + weatherTool + `],"messages":[
		{"role":"user","content":"What is the weather in Lisbon?"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"` + calls[0].ID + `","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Lisbon\"}"}}]},
		{"role":"tool","tool_call_id":"` + calls[0].ID + `","content":"{\"temp_c\": 21, \"condition\": \"sunny\"}"}]}`
	b := s.chat(follow)
	if !strings.Contains(b.content(), "Lisbon") || b.finish() != "stop" {
		t.Errorf("got %q, finish %q", b.content(), b.finish())
	}
	// The empty thought that a prompt ends with is no part of the history.
	if b.Usage.PromptDetails.Cached < a.Usage.Prompt-4 {
		t.Errorf("%d tokens reused of a prompt of %d", b.Usage.PromptDetails.Cached, a.Usage.Prompt)
	}
}

func TestToolChoiceNoneHidesTheTools(t *testing.T) {
	s := start(t)
	plain := s.chat(say("What is the weather in Lisbon?"))
	none := s.chat(say("What is the weather in Lisbon?", `"tools":[`+weatherTool+`],"tool_choice":"none"`))
	if none.content() != plain.content() || none.Usage.Prompt != plain.Usage.Prompt {
		t.Errorf("got %q of %d tokens, want what it is without tools: %q of %d", none.content(), none.Usage.Prompt, plain.content(), plain.Usage.Prompt)
	}
}

func TestThinkingIsApart(t *testing.T) {
	s := start(t)
	for _, on := range []string{`"reasoning_effort":"low"`, `"chat_template_kwargs":{"enable_thinking":true}`,
		`"reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true}`} {
		a := s.chat(say("What is 17 + 25?", on))
		if a.Choices[0].Message.Reasoning == "" || strings.Contains(a.content(), "thought") {
			t.Errorf("%s: reasoning %q, content %q", on, a.Choices[0].Message.Reasoning, a.content())
		}
		if n := a.Usage.OutputDetails.Reasoning; n < 1 || n >= a.Usage.Completion {
			t.Errorf("%s: %d of %d tokens are reasoning", on, n, a.Usage.Completion)
		}
	}
	for _, off := range []string{`"reasoning_effort":"none"`, `"reasoning_effort":"high","chat_template_kwargs":{"enable_thinking":false}`} {
		if a := s.chat(say("What is 17 + 25?", off)); a.Choices[0].Message.Reasoning != "" {
			t.Errorf("%s: reasoning %q", off, a.Choices[0].Message.Reasoning)
		}
	}
}

func TestLogprobsCoverTheVisibleText(t *testing.T) {
	s := start(t)
	for _, body := range []string{
		say("Say exactly: The fruit is below his chair 191 Ω.", `"logprobs":true,"top_logprobs":3`),
		say("What is 17 + 25?", `"logprobs":true,"top_logprobs":3,"reasoning_effort":"low"`),
		say("Hello", `"logprobs":true,"top_logprobs":3,"stop":"can"`),
	} {
		a := s.chat(body)
		var text []byte
		for _, l := range a.Choices[0].Logprobs.Content {
			for _, b := range l.Bytes {
				text = append(text, byte(b))
			}
			sum := 0.0
			for _, top := range l.Top {
				sum += math.Exp(top.Logprob)
			}
			if len(l.Top) != 3 || l.Top[0].Logprob != l.Logprob || l.Logprob > 0 || sum > 1+1e-9 {
				t.Errorf("token %q: %+v", l.Token, l)
			}
		}
		if !strings.HasPrefix(string(text), a.content()) || a.Extension.StopString == (string(text) == a.content()) {
			t.Errorf("the tokens spell %q, the content is %q", text, a.content())
		}
	}
}

func TestSamplingIsRepeatable(t *testing.T) {
	s := start(t)
	hot := `"temperature":2,"top_p":1,"top_k":-1,"max_tokens":12`
	ask := func(more string) chatAnswer {
		return s.chat(`{"messages":[{"role":"user","content":"Tell me a story"}],` + hot + more + `}`)
	}
	first := ask("")
	again := ask(`,"seed":` + encode(t, first.Extension.Seed))
	if first.content() != again.content() {
		t.Errorf("with the seed that was told: %q, first: %q", again.content(), first.content())
	}
	others := 0
	for range 4 {
		if a := ask(""); a.content() != first.content() {
			others++
		}
	}
	if others == 0 {
		t.Error("five answers without a seed are the same")
	}
}

func TestLogitBiasAndPenaltiesReachTheSampler(t *testing.T) {
	s := start(t)
	status, data := s.post("/tokenize", `{"content":"Hello"}`)
	ids := decode[struct{ Tokens []int }](t, data).Tokens
	if status != http.StatusOK || len(ids) != 1 {
		t.Fatalf("status %d: %s", status, data)
	}
	if a := s.chat(say("Hello", `"logit_bias":{"`+encode(t, ids[0])+`":-100}`)); strings.HasPrefix(a.content(), "Hello") {
		t.Errorf("got %q in spite of the bias", a.content())
	}
	// Heat makes room for other tokens: the demo model is very sure of itself.
	hot := `"temperature":2,"top_p":1,"seed":3,"max_tokens":40,"logit_bias":{"1":-100,"106":-100}`
	count := func(more string) string {
		return s.chat(`{"messages":[{"role":"user","content":"Count from 1 to 9."}],` + hot + more + `}`).content()
	}
	plain := count("")
	for _, penalty := range []string{`,"frequency_penalty":2`, `,"presence_penalty":2`, `,"repetition_penalty":50`} {
		if count(penalty) == plain {
			t.Errorf("%s changes nothing", penalty)
		}
	}
}

func TestParallelToolCallsFalseEndsBehindTheFirst(t *testing.T) {
	s := start(t)
	a := s.chat(say("What is the weather in Lisbon?", `"parallel_tool_calls":false,"tools":[`+weatherTool+`]`))
	if n := len(a.Choices[0].Message.ToolCalls); n != 1 || a.finish() != "tool_calls" {
		t.Errorf("%d calls, finish %q", n, a.finish())
	}
}

func TestToolSchemasNeverFail(t *testing.T) {
	s := start(t)
	for _, schema := range []string{
		`{}`, `null`, `true`, `[]`, `"text"`, `17`, `{"type":"array"}`, `{"type":["object","null"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
		`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"s":{"const":1}}}}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^x","enum":["xa"]}},"additionalProperties":false}`,
		`{"type":"object","required":17,"properties":{"<|turn>":{"description":"<turn|>"}}}`,
	} {
		body := say("Hello", `"max_tokens":1,"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":`+schema+`}}]`)
		status, data := s.post("/v1/chat/completions", body)
		if status != http.StatusOK {
			t.Errorf("%s: status %d: %s", schema, status, data)
		}
	}
}

func TestContextLimitIsTold(t *testing.T) {
	s := start(t)
	long := say(strings.Repeat("word ", 5000))
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		body := long
		if path == "/v1/completions" {
			body = `{"prompt":"` + strings.Repeat("word ", 5000) + `"}`
		}
		status, data := s.post(path, body)
		e := decode[apiError](t, data).Error
		if status != http.StatusBadRequest || e.Code != "context_length_exceeded" || !strings.Contains(e.Message, "4096") {
			t.Errorf("%s: status %d: %s", path, status, data)
		}
	}
	status, data := s.post("/v1/chat/completions/input_tokens", long)
	cost := decode[struct {
		Fits bool
		N    int `json:"input_tokens"`
	}](t, data)
	if status != http.StatusOK || cost.Fits || cost.N <= 4096 {
		t.Errorf("status %d: %s", status, data)
	}
}

func TestFullContextEndsTheAnswer(t *testing.T) {
	s := start(t)
	a := s.chat(say(strings.Repeat("a ", 4050), `"logit_bias":{"1":-100,"106":-100}`))
	if a.finish() != "length" || !a.Extension.ContextFull || a.Usage.Total < 4096 {
		t.Errorf("finish %q, context full %v, usage %+v", a.finish(), a.Extension.ContextFull, a.Usage)
	}
}

func TestModels(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Names = []string{"main", "alias"} })
	for path, want := range map[string]int{"/v1/models": 200, "/v1/models/main": 200, "/v1/models/alias": 200, "/v1/models/other": 404} {
		if status, data := s.get(path); status != want {
			t.Errorf("%s: status %d: %s", path, status, data)
		}
	}
	for model, want := range map[string]int{"main": 200, "alias": 200, "": 200, "gpt-4o": 404} {
		status, data := s.post("/v1/chat/completions", say("Hello", `"max_tokens":1,"model":"`+model+`"`))
		if status != want || want == 404 && decode[apiError](t, data).Error.Code != "model_not_found" {
			t.Errorf("model %q: status %d: %s", model, status, data)
		}
	}
	status, data := s.get("/v1/models/main")
	m := decode[struct {
		Context    int `json:"context_window"`
		Modalities struct{ Input []string }
	}](t, data)
	if status != 200 || m.Context != 4096 || !slices.Equal(m.Modalities.Input, []string{"text", "image"}) {
		t.Errorf("status %d: %s", status, data)
	}
}
