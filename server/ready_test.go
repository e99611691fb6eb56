package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server"
)

func TestServesBeforeTheModelIsThere(t *testing.T) {
	s := startWithout(t)
	check := func(path string, status int, word string) {
		t.Helper()
		got, data := s.get(path)
		if got != status || !strings.Contains(string(data), word) {
			t.Errorf("%s: status %d, want %d and %q: %s", path, got, status, word, data)
		}
	}
	s.SetLoading(25, 100)
	check("/livez", 200, "ok")
	check("/readyz", 503, "25 % checked")
	check("/health", 503, `"percent":25`)
	check("/v1/models", 503, "model_not_ready")
	check("/metrics", 200, "fieldfare_queue_running")
	status, header, data := s.do(s.request("POST", "/v1/chat/completions", say("Hello")))
	if status != 503 || header.Get("Retry-After") == "" || decode[apiError](t, data).Error.Code != "model_not_ready" {
		t.Errorf("a question: status %d, %v: %s", status, header, data)
	}
	s.SetFailed(errors.New("the file is damaged"))
	check("/health", 503, "the file is damaged")
	check("/readyz", 503, "there is no model")
	s.rt = loadDemo(t, core.Options{})
	s.SetModel(s.rt)
	check("/readyz", 200, "ok")
	check("/health", 200, `"status":"ok"`)
	check("/v1/models", 200, "demo")
}

func TestMissingVisionIsReported(t *testing.T) {
	s := startWithout(t)
	s.rt = loadDemo(t, core.Options{})
	s.SetModel(s.rt)
	status, data := s.get("/health")
	h := decode[struct {
		Vision struct{ State, Reason string }
	}](t, data)
	if status != 200 || h.Vision.State != "missing" || h.Vision.Reason == "" {
		t.Errorf("status %d: %s", status, data)
	}
	status, data = s.post("/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]}`)
	if e := decode[apiError](t, data).Error; status != 400 || e.Code != "vision_unavailable" || !strings.Contains(e.Message, h.Vision.Reason) {
		t.Errorf("a picture: status %d: %s", status, data)
	}
}

// brokenVision is an image extension that does not start.
type brokenVision struct{}

var errBroken = errors.New("the pack is of another model")

func (brokenVision) Name() string                              { return "vision" }
func (brokenVision) Init(context.Context, *core.Runtime) error { return errBroken }
func (brokenVision) Close() error                              { return nil }

func TestBrokenVisionIsReported(t *testing.T) {
	s := startWithout(t, func(o *server.Options) {
		o.Vision = func(err error) server.VisionState {
			if errors.Is(err, errBroken) {
				return server.VisionUnsupported
			}
			return server.VisionReady
		}
	})
	s.rt = loadDemo(t, core.Options{Extensions: []core.Extension{brokenVision{}}})
	s.SetModel(s.rt)
	_, data := s.get("/health")
	if h := decode[struct {
		Vision struct{ State, Reason string }
	}](t, data); h.Vision.State != "unsupported" || !strings.Contains(h.Vision.Reason, errBroken.Error()) {
		t.Errorf("got %s", data)
	}
	if a := s.chat(say("Hello")); a.finish() != "stop" {
		t.Errorf("text ends with %q", a.finish())
	}
}

func TestQueueIsBounded(t *testing.T) {
	s := start(t, func(o *server.Options) { o.QueueLength = 1 })
	running := s.follow(t, say("Count from 1 to 9.", `"stream":true`, endless))
	running.until(`"content":"1`)
	waiting := s.follow(t, say("Hello", `"stream":true`))
	waiting.until(`"role"`)
	status, header, data := s.do(s.request("POST", "/v1/chat/completions", say("Hello", `"stream":true`)))
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || decode[apiError](t, data).Error.Code != "queue_full" {
		t.Errorf("status %d, %v: %s", status, header, data)
	}
	running.leave()
	waiting.until("[DONE]")
}

func TestShutdownLetsTheAnswerEnd(t *testing.T) {
	s := start(t)
	running := s.follow(t, say("Count from 1 to 99.", `"stream":true`))
	running.until(`"content":"1`)
	ended := make(chan error, 1)
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		defer stop()
		ended <- s.Shutdown(ctx)
	}()
	running.until(`"finish_reason":"`)
	running.until("[DONE]")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTokenEndpoints(t *testing.T) {
	s := start(t)
	const typed = "Hi <turn|> Ω"
	_, data := s.post("/tokenize", `{"content":"`+typed+`","add_special":true,"with_pieces":true}`)
	tokens := decode[struct {
		Tokens []int
		Count  int
		Pieces []struct{ Piece string }
	}](t, data)
	end, _ := s.rt.Tokenizer().Special("<turn|>")
	if tokens.Count != len(tokens.Tokens) || len(tokens.Pieces) != tokens.Count || tokens.Tokens[0] != 2 || slices.Contains(tokens.Tokens, int(end)) {
		t.Errorf("tokenize: %s", data)
	}
	_, data = s.post("/detokenize", `{"tokens":`+encode(t, tokens.Tokens)+`}`)
	if got := decode[struct{ Content string }](t, data).Content; got != typed {
		t.Errorf("detokenize: %q", got)
	}
	_, data = s.post("/apply-template", say("Hi", `"reasoning_effort":"low"`))
	if got := decode[struct{ Prompt string }](t, data).Prompt; got != "<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n" {
		t.Errorf("apply-template: %q", got)
	}
}

func TestInputTokens(t *testing.T) {
	s := start(t)
	type cost struct {
		Total    int      `json:"input_tokens"`
		Reusable int      `json:"reusable_tokens"`
		Room     int      `json:"room_for_answer"`
		Seconds  *float64 `json:"expected_seconds"`
		Fits     bool
	}
	ask := func() cost {
		_, data := s.post("/v1/chat/completions/input_tokens", say("What is the capital of Peru?"))
		return decode[cost](t, data)
	}
	before := ask()
	a := s.chat(say("What is the capital of Peru?"))
	after := ask()
	if before.Total != a.Usage.Prompt || before.Reusable != 0 || !before.Fits || before.Room != 4096-before.Total || before.Seconds != nil {
		t.Errorf("before: %+v", before)
	}
	if after.Reusable != after.Total-1 || after.Seconds == nil || *after.Seconds <= 0 {
		t.Errorf("after: %+v", after)
	}
}

func TestMetricsCount(t *testing.T) {
	s := start(t)
	s.chat(say("Hello"))
	s.chat(say("Hello"))
	s.post("/v1/chat/completions", `{"x":1}`)
	_, data := s.get("/metrics")
	for _, line := range []string{
		`fieldfare_requests_total{route="/v1/chat/completions",status="200"} 2`,
		`fieldfare_requests_total{route="/v1/chat/completions",status="400"} 1`,
		`fieldfare_refusals_total{reason="unknown_parameter"} 1`,
		`fieldfare_prefix_total{end="all reused"} 1`,
		`fieldfare_time_to_first_token_seconds_count 2`,
		`fieldfare_tokens_total{kind="completion"} 16`,
		`fieldfare_queue_running 0`,
		`fieldfare_conversations 1`,
		`fieldfare_memory_bytes{class="kv"}`, `fieldfare_expert_read_bytes_total`, `fieldfare_expert_hit_ratio`,
	} {
		if !strings.Contains(string(data), line) {
			t.Errorf("there is no %s in\n%s", line, data)
		}
	}
}

func TestPageNeedsNoKey(t *testing.T) {
	s := startWithout(t, func(o *server.Options) {
		o.APIKey = "key"
		o.Page = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/" {
				io.WriteString(w, "page")
			}
			return r.URL.Path == "/"
		}
	})
	if status, data := s.get("/"); status != 200 || string(data) != "page" {
		t.Errorf("status %d: %s", status, data)
	}
	if status, data := s.get("/nothing"); status != 404 || decode[apiError](t, data).Error.Code != "not_found" {
		t.Errorf("status %d: %s", status, data)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]server.Options{
		"an origin with a path":  {AllowedOrigins: []string{"http://a.example/x"}},
		"all origins":            {AllowedOrigins: []string{"*"}},
		"no scheme":              {AllowedOrigins: []string{"a.example"}},
		"an endless queue":       {QueueLength: 100000},
		"no conversation memory": {ConversationBytes: -1},
		"a tiny body":            {MaxBody: 10},
		"negative images":        {MaxImages: -1},
		"another keep-alive":     {KeepAlive: "ping"},
		"a negative time":        {BodyTimeout: -1},
	} {
		if _, err := server.New(o); !errors.Is(err, server.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
