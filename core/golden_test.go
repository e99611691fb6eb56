package core_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/text"
)

// Tolerances, relative to the largest logit of the reference. The references are float32 runs of another program that
// caches nothing; what was measured on amd64 stands beside.
const (
	goldenExact = 1e-5 // K and V in float32: 8e-7
	goldenHalf  = 5e-4 // K and V in float16: 1.8e-4
	goldenRound = 5e-3 // and activations in 8 bits: 4.8e-3
)

const demoPath = "../testdata/demo.gturbo"

// loadDemo opens the demo install on the CPU backend.
func loadDemo(t testing.TB, change func(*core.Options)) *core.Runtime {
	t.Helper()
	return loadInstall(t, demoPath, change)
}

func loadInstall(t testing.TB, path string, change func(*core.Options)) *core.Runtime {
	t.Helper()
	opts := core.Options{Backend: cpuBackend(t, cpu.Options{}), MaxContext: 2048}
	if change != nil {
		change(&opts)
	}
	rt, err := core.Load(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

func cpuBackend(t testing.TB, o cpu.Options) *cpu.Backend {
	t.Helper()
	b, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A golden is what the reference says about one prompt.
type golden struct {
	ID        string
	InputIDs  []int32 `json:"input_ids"`
	Hidden    map[string]goldenHidden
	Router    map[string]map[string]goldenRouting
	GreedyIDs []int32 `json:"greedy_ids"`
	logits    []float32
}

type goldenHidden struct {
	Mean, Std   float64
	First, Last []float64
}

type goldenRouting struct {
	Experts []gturbo.ExpertID
	Weights []float64
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// readNpy reads a one-dimensional float32 array.
func readNpy(t testing.TB, path string) []float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) < 10 || string(data[:6]) != "\x93NUMPY" || !strings.Contains(string(data[:128]), "'<f4'") {
		t.Fatalf("%s is no float32 array", path)
	}
	data = data[10+binary.LittleEndian.Uint16(data[8:]):]
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

// textGoldens reads the demo's reference runs without pictures.
func textGoldens(t testing.TB) []golden {
	t.Helper()
	var out []golden
	for _, pattern := range []string{"text-*.json", "tool-*.json", "think.json"} {
		files, err := filepath.Glob(filepath.Join("../testdata/goldens", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no goldens %s: %v", pattern, err)
		}
		for _, f := range files {
			var g golden
			readJSON(t, f, &g)
			g.logits = readNpy(t, strings.TrimSuffix(f, ".json")+".logits.npy")
			out = append(out, g)
		}
	}
	return out
}

// A chatCase is a conversation in the shape that chat clients send.
type chatCase struct {
	ID       string
	Kind     string
	Messages []struct {
		Role      text.Role
		Content   text.Value
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
	Expected string
}

func (c *chatCase) conversation(t testing.TB) text.Conversation {
	out := text.Conversation{Thinking: c.Thinking}
	for _, tool := range c.Tools {
		out.Tools = append(out.Tools, tool.Function)
	}
	for _, m := range c.Messages {
		content, ok := m.Content.Text()
		if !ok {
			t.Fatalf("%s: a message that is no text", c.ID)
		}
		message := text.Message{Role: m.Role, Content: text.Plain(content), ToolCallID: m.ToolCallID, Name: m.Name}
		for _, call := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, text.ToolCall{
				ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
			})
		}
		out.Messages = append(out.Messages, message)
	}
	return out
}

// prepare lays out the conversation of a golden.
func (g *golden) prepare(t testing.TB, rt *core.Runtime) *core.Prompt {
	t.Helper()
	var cases []chatCase
	readJSON(t, "../testdata/goldens/cases.json", &cases)
	i := slices.IndexFunc(cases, func(c chatCase) bool { return c.ID == g.ID })
	if i < 0 {
		t.Fatalf("no conversation for golden %s", g.ID)
	}
	p, err := rt.Prepare(t.Context(), cases[i].conversation(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answer decodes greedily; stop ids are appended, as the references have them.
func answer(t testing.TB, s *core.Session, limit int) []int32 {
	t.Helper()
	var ids []int32
	res, err := s.Generate(t.Context(), core.GenerateOptions{MaxTokens: limit}, func(tok core.Token) error {
		ids = append(ids, tok.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Finish == core.FinishStop {
		ids = append(ids, res.StopID)
	}
	return ids
}

func TestDemoGoldens(t *testing.T) {
	for _, c := range []struct {
		name      string
		kv        core.KVType
		tolerance float64
	}{
		{"K and V in float32", core.KVFloat32, goldenExact},
		{"K and V in float16", core.KVFloat16, goldenHalf},
	} {
		rt := loadDemo(t, func(o *core.Options) { o.Backend, o.KV = cpuBackend(t, cpu.Options{Float32: true}), c.kv })
		for _, g := range textGoldens(t) {
			t.Run(c.name+"/"+g.ID, func(t *testing.T) {
				s := newSession(t, rt)
				defer s.Close()
				p := g.prepare(t, rt)
				if !slices.Equal(p.Tokens, g.InputIDs) {
					t.Fatalf("ids %v, want %v", p.Tokens, g.InputIDs)
				}
				w := watch(t, rt)
				prefill(t, s, p)
				w.stop()
				d := relative(s.Logits(), g.logits)
				if d > c.tolerance {
					t.Errorf("logits off by %.2e", d)
				}
				layers := w.compare(t, &g, c.tolerance)
				t.Logf("logits %.1e, layers %.1e", d, layers)
				if got := answer(t, s, 100); !slices.Equal(got, g.GreedyIDs) {
					t.Errorf("answer %v, want %v", got, g.GreedyIDs)
				}
			})
		}
	}
}

// The kernels that users get may round activations: the words stay.
func TestDemoAnswersOfTheDefaultKernels(t *testing.T) {
	rt := loadDemo(t, nil)
	for _, g := range textGoldens(t) {
		t.Run(g.ID, func(t *testing.T) {
			s := newSession(t, rt)
			defer s.Close()
			prefill(t, s, g.prepare(t, rt))
			d := relative(s.Logits(), g.logits)
			t.Logf("logits %.1e", d)
			if d > goldenRound {
				t.Errorf("logits off by %.2e", d)
			}
			if got := answer(t, s, 100); !slices.Equal(got, g.GreedyIDs) {
				t.Errorf("answer %v, want %v", got, g.GreedyIDs)
			}
		})
	}
}

// A watcher keeps what goldens know of a prefill, which may come in chunks.
type watcher struct {
	stop    func()
	width   int
	hidden  []watched // [L+1]: after embed, then after each layer
	routing []map[string]goldenRouting
}

type watched struct {
	n, sum, squares float64
	first, last     []float32
}

func watch(t testing.TB, rt *core.Runtime) *watcher {
	t.Helper()
	cfg := rt.Config()
	w := &watcher{width: cfg.Hidden, hidden: make([]watched, len(cfg.Layers)+1)}
	for range cfg.Layers {
		w.routing = append(w.routing, map[string]goldenRouting{})
	}
	stop, err := rt.Observe(&core.Observer{
		Residual: func(l gturbo.LayerID, b *core.Batch, x []float32) { w.hidden[l+1].add(b, x, w.width) },
		Route: func(l gturbo.LayerID, b *core.Batch, r core.Routing) {
			if b.Pos == 0 {
				w.routing[l]["first"] = routingOf(r, 0, cfg.TopK)
			}
			w.routing[l]["last"] = routingOf(r, len(b.Tokens)-1, cfg.TopK)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stop = stop
	return w
}

func (w *watched) add(b *core.Batch, x []float32, width int) {
	for _, v := range x {
		w.n++
		w.sum += float64(v)
		w.squares += float64(v) * float64(v)
	}
	if b.Pos == 0 {
		w.first = slices.Clone(x[:width])
	}
	w.last = slices.Clone(x[len(x)-width:])
}

func routingOf(r core.Routing, row, k int) goldenRouting {
	g := goldenRouting{Experts: slices.Clone(r.Experts[row*k:][:k])}
	for _, v := range r.Weights[row*k:][:k] {
		g.Weights = append(g.Weights, float64(v))
	}
	return g
}

// compare holds what was seen against g and returns the largest difference in units of the largest logit.
func (w *watcher) compare(t *testing.T, g *golden, tolerance float64) float64 {
	t.Helper()
	unit := float64(slices.Max(g.logits))
	worst := 0.0
	check := func(what string, got, want float64) {
		d := math.Abs(got-want) / unit
		worst = max(worst, d)
		if !(d <= tolerance) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	for l := range w.hidden {
		name := "embeddings"
		if l > 0 {
			name = "layer." + string(rune('0'+l-1))
		}
		h, ref := &w.hidden[l], g.Hidden[name]
		mean := h.sum / h.n
		check(name+": mean", mean, ref.Mean)
		check(name+": standard deviation", math.Sqrt(h.squares/h.n-mean*mean), ref.Std)
		for i := range ref.First {
			check(name+": first row", float64(h.first[i]), ref.First[i])
			check(name+": last row", float64(h.last[i]), ref.Last[i])
		}
		if l > 0 {
			for at, want := range g.Router[name] {
				sameRouting(t, name+": router of the "+at+" row", w.routing[l-1][at], want)
			}
		}
	}
	return worst
}

// sameRouting compares chosen sets and their weights; the order of the reference is its own.
func sameRouting(t *testing.T, what string, got, want goldenRouting) {
	t.Helper()
	for i, e := range want.Experts {
		j := slices.Index(got.Experts, e)
		if j < 0 {
			t.Errorf("%s chose %v, want %v", what, got.Experts, want.Experts)
			return
		}
		if d := math.Abs(got.Weights[j] - want.Weights[i]); d > 1e-3 {
			t.Errorf("%s: expert %d weighs %v, want %v", what, e, got.Weights[j], want.Weights[i])
		}
	}
}
