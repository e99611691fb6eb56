package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/server"
)

var update = flag.Bool("update", false, "write the golden files anew")

// unstable are the members of an event that no two runs or machines have in common.
var unstable = regexp.MustCompile(`"(timings|experts)":\{[^}]*\}|"(time_ms|remaining_seconds|logprob)":[^,}]*|` +
	`"token_logprobs":\[[^]]*\]|"top_logprobs":\[\{[^]]*\}\]|"system_fingerprint":"[^"]*"`)

// TestStreamsAreTheSameBytes keeps whole streams, byte by byte.
func TestStreamsAreTheSameBytes(t *testing.T) {
	for _, c := range []struct{ name, path, body string }{
		{"text", "/v1/chat/completions", say("Hello", `"stream":true`)},
		{"usage", "/v1/chat/completions", say("Hello", `"stream":true,"stream_options":{"include_usage":true}`)},
		{"progress", "/v1/chat/completions", say("Hello", `"stream":true,"return_progress":true`)},
		{"reasoning", "/v1/chat/completions", say("What is 17 + 25?", `"stream":true,"reasoning_effort":"low"`)},
		{"tool-call", "/v1/chat/completions", say("What is the weather in Lisbon?", `"stream":true,"tools":[`+weatherTool+`]`)},
		{"tool-call-cut", "/v1/chat/completions", say("What is the weather in Lisbon?", `"stream":true,"max_tokens":9,"tools":[`+weatherTool+`]`)},
		{"logprobs", "/v1/chat/completions", say("Hello", `"stream":true,"logprobs":true,"top_logprobs":1,"max_tokens":2`)},
		{"stop", "/v1/chat/completions", say("Hello", `"stream":true,"stop":"I help"`)},
		{"completion", "/v1/completions", `{"prompt":"What is","temperature":0,"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}}`},
		{"completion-echo", "/v1/completions", `{"prompt":"What is","temperature":0,"max_tokens":2,"stream":true,"echo":true,"logprobs":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, fixed, func(o *server.Options) { o.KeepAliveEvery = time.Hour })
			status, header, got := s.do(s.request("POST", c.path, c.body))
			if status != http.StatusOK || header.Get("Content-Type") != "text/event-stream; charset=utf-8" || header.Get("Cache-Control") != "no-cache, no-transform" {
				t.Fatalf("status %d, %v: %s", status, header, got)
			}
			text := unstable.ReplaceAllString(string(got), `"…":0`)
			file := filepath.Join("testdata", "streams", c.name+".sse")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("the stream differs from %s (-update writes it anew):\n%s", file, text)
			}
		})
	}
}

// TestStreamAndWholeAnswerAgree puts the pieces of streams together.
func TestStreamAndWholeAnswerAgree(t *testing.T) {
	s := start(t)
	for _, body := range []string{
		say("Say exactly: The fruit is below his chair 191 Ω."),
		say("What is 17 + 25?", `"reasoning_effort":"low"`),
		say("What is the weather in Lisbon?", `"tools":[`+weatherTool+`]`),
		say("What is the weather in Lisbon?", `"max_tokens":9,"tools":[`+weatherTool+`]`),
		say("Hello", `"stop":["I help"]`),
	} {
		whole := s.chat(body)
		parts := collect(s.stream(strings.TrimSuffix(body, "}") + `,"stream":true}`))
		m := whole.Choices[0].Message
		if parts.content != whole.content() || parts.reasoning != m.Reasoning || parts.finish != whole.finish() {
			t.Errorf("%s: stream %+v, whole %+v", body, parts, whole)
		}
		for i, call := range m.ToolCalls {
			if parts.names[i] != call.Function.Name || parts.arguments[i] != call.Function.Arguments {
				t.Errorf("%s: call %d is %s(%s) in the stream, %s(%s) in the whole answer", body, i, parts.names[i], parts.arguments[i], call.Function.Name, call.Function.Arguments)
			}
		}
	}
}

// chunk is what tests read of an event.
type chunk struct {
	Choices []struct {
		Delta struct {
			Role, Content string
			Reasoning     string `json:"reasoning_content"`
			ToolCalls     []struct {
				Index    int
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Progress *struct {
		Phase    string
		Position int `json:"queue_position"`
		Percent  float64
	} `json:"prompt_progress"`
	Error     *struct{ Code string }
	Extension *extension `json:"fieldfare"`
}

// stream posts a request and returns the events, which must end with the end marker.
func (s *testServer) stream(body string) []chunk {
	s.t.Helper()
	status, _, data := s.do(s.request("POST", "/v1/chat/completions", body))
	if status != http.StatusOK || !strings.HasSuffix(string(data), "data: [DONE]\n\n") {
		s.t.Fatalf("status %d: %s", status, data)
	}
	var out []chunk
	for _, e := range strings.Split(strings.TrimSuffix(string(data), "data: [DONE]\n\n"), "\n\n") {
		if e != "" && !strings.HasPrefix(e, ":") {
			out = append(out, decode[chunk](s.t, []byte(strings.TrimPrefix(e, "data: "))))
		}
	}
	return out
}

type collected struct {
	content, reasoning, finish string
	names, arguments           [4]string
}

func collect(chunks []chunk) (c collected) {
	for _, k := range chunks {
		for _, choice := range k.Choices {
			c.content += choice.Delta.Content
			c.reasoning += choice.Delta.Reasoning
			c.finish += choice.Finish
			for _, call := range choice.Delta.ToolCalls {
				c.names[call.Index] += call.Function.Name
				c.arguments[call.Index] += call.Function.Arguments
			}
		}
	}
	return c
}

// A follower reads one stream line by line.
type follower struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
	body   io.Closer
}

// follow starts a request whose stream is read as it comes.
func (s *testServer) follow(t *testing.T, body string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	resp, err := http.DefaultClient.Do(s.request("POST", "/v1/chat/completions", body).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t: t, lines: bufio.NewScanner(resp.Body), cancel: cancel, body: resp.Body}
	t.Cleanup(f.leave)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	return f
}

// leave closes the connection in the middle of the stream.
func (f *follower) leave() {
	f.cancel()
	f.body.Close()
}

// until reads lines up to one that holds text, and returns that one.
func (f *follower) until(text string) string {
	f.t.Helper()
	for f.lines.Scan() {
		if strings.Contains(f.lines.Text(), text) {
			return f.lines.Text()
		}
	}
	f.t.Fatalf("the stream ended without %q: %v", text, f.lines.Err())
	return ""
}

// endless keeps the model from ending its turn.
const endless = `"logit_bias":{"1":-100,"106":-100}`

// waitIdle waits until no answer is computed and none waits.
func (s *testServer) waitIdle() {
	s.t.Helper()
	for range 1000 {
		_, data := s.get("/health")
		q := decode[struct {
			Queue struct{ Running, Waiting int }
		}](s.t, data).Queue
		if q.Running == 0 && q.Waiting == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("the server does not come to rest")
}

func TestFirstBytesComeBeforeTheTurn(t *testing.T) {
	s := start(t)
	first := s.follow(t, say("Count from 1 to 9.", `"stream":true`, endless))
	first.until(`"content":"1`)
	second := s.follow(t, say("Hello", `"stream":true,"return_progress":true`))
	second.until(`"role":"assistant"`)
	if line := second.until(`"phase":"queue"`); !strings.Contains(line, `"queue_position":1`) {
		t.Errorf("the position is told as %s", line)
	}
	first.leave()
	second.until(`"finish_reason":"stop"`)
	second.until("[DONE]")
}

func TestKeepAliveWhileWaiting(t *testing.T) {
	for kind, want := range map[server.KeepAlive]string{
		server.KeepAliveComment: ": keep-alive", server.KeepAliveDelta: `"delta":{},`, server.KeepAliveProgress: `"queue_position":1`,
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := start(t, func(o *server.Options) { o.KeepAlive, o.KeepAliveEvery = kind, 20*time.Millisecond })
			first := s.follow(t, say("Count from 1 to 9.", `"stream":true`, endless))
			first.until(`"content":"1`)
			second := s.follow(t, say("Hello", `"stream":true`))
			for range 3 {
				second.until(want)
			}
			first.leave()
			second.until("[DONE]")
		})
	}
}

func TestErrorsInAStreamEndIt(t *testing.T) {
	s := start(t)
	first := s.follow(t, say("Count from 1 to 9.", `"stream":true`, endless))
	first.until(`"content":"1`)
	waiting := s.follow(t, say("Hello", `"stream":true`))
	waiting.until(`"role":"assistant"`)
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	go s.Shutdown(ctx)
	for _, f := range []*follower{waiting, first} {
		line := f.until(`"error"`)
		var e apiError
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &e); err != nil || e.Error.Code != "shutting_down" {
			t.Errorf("%v in %s", err, line)
		}
		f.until("[DONE]")
		if f.lines.Scan() && f.lines.Text() != "" || f.lines.Err() != nil {
			t.Errorf("behind the end marker: %q, %v", f.lines.Text(), f.lines.Err())
		}
	}
}
