package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/server"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/vision"
)

// demoPath is the demo model with its image pack, installed once for all tests.
var demoPath string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fieldfare-server-*")
	if err != nil {
		panic(err)
	}
	demoPath = filepath.Join(dir, "demo.gturbo")
	err = errors.Join(
		install.Materialise(context.Background(), testdata.Demo(), demoPath),
		install.MaterialisePack(context.Background(), testdata.DemoVision(), filepath.Join(dir, "demo.vision.gturbo")))
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// sight is the image extension for one model.
func sight(t testing.TB) core.Extension {
	t.Helper()
	x, err := vision.New(vision.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// loadDemo returns the demo model on the CPU backend.
func loadDemo(t testing.TB, o core.Options) *core.Runtime {
	t.Helper()
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Backend = backend
	rt, err := core.Load(context.Background(), demoPath, o)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// A testServer is a Server that listens on a real port.
type testServer struct {
	*server.Server
	t   testing.TB
	rt  *core.Runtime
	url string
}

// start serves the demo model until the test ends.
func start(t testing.TB, change ...func(*server.Options)) *testServer {
	t.Helper()
	s := startWithout(t, change...)
	s.rt = loadDemo(t, core.Options{Extensions: []core.Extension{sight(t)}})
	s.SetModel(s.rt)
	return s
}

// startWithout serves without a model.
func startWithout(t testing.TB, change ...func(*server.Options)) *testServer {
	t.Helper()
	o := server.Options{Address: "127.0.0.1:0", Sampling: core.Sampling{}}
	for _, c := range change {
		c(&o)
	}
	inner, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := inner.Listen(); err != nil {
		t.Fatal(err)
	}
	s := &testServer{Server: inner, t: t, url: inner.URL()}
	served := make(chan error, 1)
	go func() { served <- inner.Serve() }()
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if err := inner.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if s.rt != nil {
			if err := s.rt.Close(); err != nil {
				t.Errorf("close the model: %v", err)
			}
		}
	})
	return s
}

// fixed makes ids, times and seeds repeatable.
func fixed(o *server.Options) {
	var n atomic.Int64
	o.Now = func() time.Time { return time.Unix(1700000000, 0) }
	o.NewID = func() string { return "id" + string(rune('0'+n.Add(1)%10)) }
	o.NewSeed = func() uint64 { return 7 }
}

// do sends a request and returns the answer's status and body.
func (s *testServer) do(rq *http.Request) (int, http.Header, []byte) {
	s.t.Helper()
	resp, err := http.DefaultClient.Do(rq)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, body
}

// request makes a request; a body is sent as JSON.
func (s *testServer) request(method, path, body string) *http.Request {
	s.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	rq, err := http.NewRequest(method, s.url+path, r)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		rq.Header.Set("Content-Type", "application/json")
	}
	return rq
}

func (s *testServer) post(path, body string) (int, []byte) {
	s.t.Helper()
	status, _, answer := s.do(s.request("POST", path, body))
	return status, answer
}

func (s *testServer) get(path string) (int, []byte) {
	s.t.Helper()
	status, _, answer := s.do(s.request("GET", path, ""))
	return status, answer
}

// chat posts a chat request that must succeed.
func (s *testServer) chat(body string) chatAnswer {
	s.t.Helper()
	status, data := s.post("/v1/chat/completions", body)
	if status != http.StatusOK {
		s.t.Fatalf("status %d: %s", status, data)
	}
	return decode[chatAnswer](s.t, data)
}

// chatAnswer is what tests read of a chat completion; names as in the API.
type chatAnswer struct {
	Choices []struct {
		Message struct {
			Content   *string `json:"content"`
			Reasoning string  `json:"reasoning_content"`
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Logprobs *struct{ Content []tokenLogprob }
		Finish   string `json:"finish_reason"`
	}
	Usage     usage
	Extension extension `json:"fieldfare"`
}

type tokenLogprob struct {
	Token   string
	Logprob float64
	Bytes   []byte2
	Top     []tokenLogprob `json:"top_logprobs"`
}

// byte2 is a byte that JSON holds as a number.
type byte2 = uint16

type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
		Image  int `json:"image_tokens"`
	} `json:"prompt_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type extension struct {
	Seed  uint64
	Reuse struct {
		Tokens, Position int
		End              string
	}
	Images []struct {
		SoftTokens int `json:"soft_tokens"`
		Digest     string
		Cached     bool
		Receipt    map[string]any
	}
	StopString  bool `json:"stop_string"`
	ContextFull bool `json:"context_full"`
	Malformed   []struct {
		Index            int
		Name, Error, Raw string
	} `json:"malformed_tool_calls"`
	Notes []string
}

func (a chatAnswer) content() string {
	if c := a.Choices[0].Message.Content; c != nil {
		return *c
	}
	return ""
}

func (a chatAnswer) finish() string { return a.Choices[0].Finish }

func decode[T any](t testing.TB, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// apiError is the envelope of an error.
type apiError struct {
	Error struct{ Message, Type, Param, Code string }
}

// encode returns v as JSON.
func encode(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// say is the body of a chat request with one question.
func say(question string, more ...string) string {
	q, _ := json.Marshal(question)
	body := `{"temperature":0,"messages":[{"role":"user","content":` + string(q) + `}]`
	for _, m := range more {
		body += "," + m
	}
	return body + "}"
}

// A logBuffer keeps what is logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
