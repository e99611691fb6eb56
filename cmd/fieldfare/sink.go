package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
)

// A sink shows one answer as it comes.
type sink interface {
	progress(p core.Progress)
	picture(p any) // a picture that was encoded; marshals to JSON and prints as a line
	text(s string)
	reasoning(s string)
	call(c text.ToolCall)
	malformed(err *text.CallError)
	done(f footer)
}

// A footer is the account of one answer.
type footer struct {
	Finish       string  `json:"finish"`
	PromptTokens int     `json:"prompt_tokens"`
	Reused       int     `json:"reused_tokens"`
	NewTokens    int     `json:"new_tokens"`
	PrefillRate  float64 `json:"prefill_tokens_per_second"`
	DecodeRate   float64 `json:"decode_tokens_per_second"`
	FirstToken   float64 `json:"first_token_seconds"`
	BytesRead    int64   `json:"bytes_read"`
	HitRate      float64 `json:"slot_hit_rate"`
}

func newFooter(finish string, p core.Prefilled, r core.Result, s core.Stats) footer {
	perSecond := func(n int, d time.Duration) float64 {
		if n == 0 || d <= 0 {
			return 0
		}
		return float64(n) / d.Seconds()
	}
	return footer{
		Finish: finish, PromptTokens: p.Prompt, Reused: p.Reuse.Tokens, NewTokens: r.Tokens,
		PrefillRate: perSecond(p.Computed, p.Duration-p.Encode), DecodeRate: perSecond(r.Tokens-1, r.Decode),
		FirstToken: (p.Duration + r.First).Seconds(),
		BytesRead:  s.Experts.Bytes, HitRate: s.Experts.HitRate(),
	}
}

// plainSink writes the answer to stdout and everything about it to stderr.
type plainSink struct {
	app      *app
	bar      *bar
	quiet    bool
	thinking bool // a thought stands open on stderr
	midLine  bool
}

func (s *plainSink) progress(p core.Progress) {
	switch p.Phase {
	case core.PhaseEncode:
		s.bar.units("looking at the picture", "steps", p.Done, p.Total)
	case core.PhasePrefill:
		s.bar.units("reading the prompt", "tokens", p.Done, p.Total)
		if p.Done == p.Total {
			s.bar.clear()
		}
	}
}

func (s *plainSink) picture(p any) {
	s.bar.clear()
	if !s.quiet {
		fmt.Fprintln(s.app.stderr, p)
	}
}

func (s *plainSink) text(t string) {
	s.endThought()
	io.WriteString(s.app.stdout, t)
	s.midLine = t[len(t)-1] != '\n'
}

func (s *plainSink) reasoning(t string) {
	if s.quiet {
		return
	}
	s.bar.clear()
	s.thinking = true
	io.WriteString(s.app.stderr, t)
}

func (s *plainSink) endThought() {
	s.bar.clear()
	if s.thinking {
		fmt.Fprintln(s.app.stderr)
		s.thinking = false
	}
}

func (s *plainSink) call(c text.ToolCall) {
	s.endThought()
	s.endLine()
	fmt.Fprintf(s.app.stdout, "%s(%s)\n", c.Name, c.Arguments)
}

func (s *plainSink) malformed(err *text.CallError) {
	s.endThought()
	s.endLine()
	fmt.Fprintf(s.app.stderr, "fieldfare: the model wrote a tool call that cannot be read: %v\n", err)
	io.WriteString(s.app.stdout, err.Raw)
	s.midLine = true
}

func (s *plainSink) endLine() {
	if s.midLine {
		fmt.Fprintln(s.app.stdout)
		s.midLine = false
	}
}

func (s *plainSink) done(f footer) {
	s.endThought()
	s.endLine()
	if s.quiet {
		return
	}
	reused := ""
	if f.Reused > 0 {
		reused = fmt.Sprintf(" (%d reused)", f.Reused)
	}
	fmt.Fprintf(s.app.stderr, "%d prompt tokens%s at %.0f/s, %d new at %.1f/s, first after %.2f s; %s of experts read, %.0f %% in memory%s\n",
		f.PromptTokens, reused, f.PrefillRate, f.NewTokens, f.DecodeRate, f.FirstToken, size(f.BytesRead), 100*f.HitRate, ending(f.Finish))
}

// ending says why an answer ended where the reader may think that it is whole.
func ending(finish string) string {
	switch finish {
	case "length":
		return "; cut at --max-new"
	case "context full":
		return "; cut: the context is full (--max-context)"
	case "stopped":
		return "; stopped"
	}
	return ""
}

// jsonSink writes one JSON object a line for every event.
type jsonSink struct{ encoder *json.Encoder }

func newJSONSink(w io.Writer) *jsonSink {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &jsonSink{e}
}

func (s *jsonSink) emit(kind string, fields map[string]any) {
	if fields == nil {
		fields = map[string]any{}
	}
	fields["type"] = kind
	s.encoder.Encode(fields)
}

func (s *jsonSink) progress(p core.Progress) {
	s.emit("progress", map[string]any{"phase": p.Phase.String(), "done": p.Done, "total": p.Total})
}
func (s *jsonSink) picture(p any)      { s.emit("image", map[string]any{"image": p}) }
func (s *jsonSink) text(t string)      { s.emit("text", map[string]any{"text": t}) }
func (s *jsonSink) reasoning(t string) { s.emit("reasoning", map[string]any{"text": t}) }
func (s *jsonSink) call(c text.ToolCall) {
	s.emit("tool_call", map[string]any{"name": c.Name, "arguments": c.Arguments})
}
func (s *jsonSink) malformed(err *text.CallError) {
	s.emit("malformed_tool_call", map[string]any{"raw": err.Raw, "error": err.Error()})
}
func (s *jsonSink) done(f footer) { s.emit("done", map[string]any{"stats": f}) }
