package metal

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/metal/standin"
	"github.com/fieldfare/fieldfare/residency"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/text"
	"github.com/fieldfare/fieldfare/vision"
)

var long = flag.Bool("long", false, "run every golden of the demo model, which takes minutes")

// quick are the goldens of the default run; -long takes all.
var quick = []string{"text-hello", "tool-call", "image-jpeg-color"}

// unpackDemo writes the demo model and its image pack to a disk.
func unpackDemo(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, install.Materialise(t.Context(), testdata.Demo(), filepath.Join(dir, "demo.gturbo")))
	must(t, install.MaterialisePack(t.Context(), testdata.DemoVision(), filepath.Join(dir, "demo.vision.gturbo")))
	return filepath.Join(dir, "demo.gturbo")
}

func loadDemo(t testing.TB, path string, b core.Backend, change func(*core.Options)) *core.Runtime {
	t.Helper()
	x, err := vision.New(vision.Options{})
	must(t, err)
	opts := core.Options{Backend: b, MaxContext: 2048, Extensions: []core.Extension{x}}
	if change != nil {
		change(&opts)
	}
	rt, err := core.Load(t.Context(), path, opts)
	must(t, err)
	t.Cleanup(func() { closed(t, rt) })
	for _, s := range rt.Extensions() {
		must(t, s.Err)
	}
	return rt
}

// A golden is what the reference says about one conversation.
type golden struct {
	id        string
	InputIDs  []int32 `json:"input_ids"`
	GreedyIDs []int32 `json:"greedy_ids"`
}

func readGoldens(t testing.TB) []golden {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "goldens", "*.json"))
	must(t, err)
	var all []golden
	for _, f := range files {
		g := golden{id: strings.TrimSuffix(filepath.Base(f), ".json")}
		if !strings.Contains("text tool imag two- thin", g.id[:4]) || strings.HasPrefix(g.id, "thin-") || g.id == "cases" {
			continue
		}
		data, err := os.ReadFile(f)
		must(t, err)
		must(t, json.Unmarshal(data, &g))
		all = append(all, g)
	}
	return all
}

// A goldenCase is a conversation in the shape that chat clients send.
type goldenCase struct {
	ID       string
	Messages []struct {
		Role      text.Role
		Content   json.RawMessage
		ToolCalls []struct {
			ID       string
			Function struct {
				Name      string
				Arguments text.Value
			}
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
		Name       string
	}
	Tools    []struct{ Function text.Tool }
	Thinking bool `json:"enable_thinking"`
}

func readCases(t testing.TB) []goldenCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "goldens", "cases.json"))
	must(t, err)
	var cases []goldenCase
	must(t, json.Unmarshal(data, &cases))
	return cases
}

// prepare lays out a golden's conversation.
func (g *golden) prepare(t testing.TB, rt *core.Runtime) *core.Prompt {
	t.Helper()
	cases := readCases(t)
	i := slices.IndexFunc(cases, func(c goldenCase) bool { return c.ID == g.id })
	if i < 0 {
		t.Fatalf("no conversation for golden %s", g.id)
	}
	conversation, media := cases[i].conversation(t)
	p, err := rt.Prepare(t.Context(), conversation, media)
	must(t, err)
	if !slices.Equal(p.Tokens, g.InputIDs) {
		t.Fatalf("%s: ids %v, want %v", g.id, p.Tokens, g.InputIDs)
	}
	return p
}

func (c *goldenCase) conversation(t testing.TB) (text.Conversation, []core.Media) {
	t.Helper()
	out, media := text.Conversation{Thinking: c.Thinking}, []core.Media(nil)
	for _, tool := range c.Tools {
		out.Tools = append(out.Tools, tool.Function)
	}
	for _, m := range c.Messages {
		message := text.Message{Role: m.Role, ToolCallID: m.ToolCallID, Name: m.Name}
		for _, call := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, text.ToolCall{
				ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
			})
		}
		var plain string
		var parts []struct{ Type, File, Text string }
		if json.Unmarshal(m.Content, &plain) == nil {
			message.Content = text.Plain(plain)
		} else {
			must(t, json.Unmarshal(m.Content, &parts))
			var content []text.Part
			for _, p := range parts {
				content = append(content, text.Part{Image: p.Type == "image", Text: p.Text})
				if p.Type == "image" {
					data, err := os.ReadFile(filepath.Join("..", "testdata", "goldens", p.File))
					must(t, err)
					media = append(media, core.Media{Name: p.File, Data: data})
				}
			}
			message.Content = text.List(content...)
		}
		out.Messages = append(out.Messages, message)
	}
	return out, media
}

// An answer is what a model says to a prompt.
type answer struct {
	logits []float32 // after the prompt
	ids    []int32   // greedy, the stop id included
}

func ask(t testing.TB, rt *core.Runtime, p *core.Prompt, limit int) answer {
	t.Helper()
	s, err := rt.NewSession()
	must(t, err)
	defer closed(t, s)
	_, err = s.Prefill(t.Context(), p, nil)
	must(t, err)
	a := answer{logits: slices.Clone(s.Logits())}
	res, err := s.Generate(t.Context(), core.GenerateOptions{MaxTokens: limit}, func(tok core.Token) error {
		a.ids = append(a.ids, tok.ID)
		return nil
	})
	must(t, err)
	if res.Finish == core.FinishStop {
		a.ids = append(a.ids, res.StopID)
	}
	return a
}

// The demo model, text and images, through the real path: greedy answers equal those of the reference and of the CPU.
func TestDemoAnswersAsTheCPUDoes(t *testing.T) {
	path := unpackDemo(t)
	onCPU := loadDemo(t, path, judge(t), nil)
	onMetal := loadDemo(t, path, open(t, standin.Options{}), nil)
	ran := 0
	for _, g := range readGoldens(t) {
		if !*long && !slices.Contains(quick, g.id) {
			continue
		}
		ran++
		want := ask(t, onCPU, g.prepare(t, onCPU), 100)
		got := ask(t, onMetal, g.prepare(t, onMetal), 100)
		d := off(got.logits, want.logits)
		t.Logf("%s: %d tokens, %d new, logits off by %.1e", g.id, len(g.InputIDs), len(got.ids), d)
		if !(d <= tolerance.golden) {
			t.Errorf("%s: logits off by %.1e", g.id, d)
		}
		if !slices.Equal(got.ids, want.ids) || !slices.Equal(got.ids, g.GreedyIDs) {
			t.Errorf("%s: answer %v, the CPU's %v, the reference's %v", g.id, got.ids, want.ids, g.GreedyIDs)
		}
	}
	if ran < len(quick) {
		t.Fatalf("%d goldens ran, want at least %d", ran, len(quick))
	}
}

// What residency decides never reaches the output, to the last bit.
func TestSameBitsWhateverSlotsPoliciesAndChunks(t *testing.T) {
	path := unpackDemo(t)
	b := open(t, standin.Options{})
	var want *answer
	for _, o := range []struct {
		experts residency.Options
		chunk   int
	}{
		{residency.Options{Slots: 16}, 128},
		{residency.Options{Slots: 8, Policy: residency.LRU, Poison: true}, 7},
		{residency.Options{Slots: 4, Reads: 1, Poison: true}, 1},
		{residency.Options{Mapped: true}, 33},
	} {
		rt := loadDemo(t, path, b, func(c *core.Options) { c.Experts, c.PrefillChunk = o.experts, o.chunk })
		for _, g := range readGoldens(t) {
			if g.id != "text-hello" {
				continue
			}
			got := ask(t, rt, g.prepare(t, rt), 12)
			if want == nil {
				want = &got
			}
			wantSameBits(t, fmt.Sprintf("%+v: logits", o), got.logits, want.logits)
			if !slices.Equal(got.ids, want.ids) {
				t.Errorf("%+v: answer %v, want %v", o, got.ids, want.ids)
			}
		}
	}
}
