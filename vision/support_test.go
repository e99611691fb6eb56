package vision

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/gturbo/pages"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/text"
)

var shared struct {
	once sync.Once
	dir  string
	err  error
}

// childRoles are what the test binary does instead of testing when a variable asks for it.
var childRoles = map[string]func(arg string) error{}

func TestMain(m *testing.M) {
	for name, role := range childRoles {
		if arg := os.Getenv(name); arg != "" {
			if err := role(arg); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	status := m.Run()
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(status)
}

// demo returns the demo model with its pack beside it; tests share it and leave it as it is.
func demo(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "fieldfare-vision-"); shared.err == nil {
			shared.err = unpackDemo(t, shared.dir)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return filepath.Join(shared.dir, "demo.gturbo")
}

func unpackDemo(t testing.TB, dir string) error {
	if err := install.Materialise(t.Context(), testdata.Demo(), filepath.Join(dir, "demo.gturbo")); err != nil {
		return err
	}
	return install.MaterialisePack(t.Context(), testdata.DemoVision(), filepath.Join(dir, "demo.vision.gturbo"))
}

// A spy is the CPU backend, with an eye on the tower.
type spy struct {
	*cpu.Backend
	pooled [][]float32                // of every picture
	mapped int64                      // most bytes of the pack mapped during a stage
	layer  func(soft []float32) error // called after each layer, and with the soft tokens
	towers atomic.Int32               // open ones
}

func (s *spy) NewTower(cfg core.TowerConfig, maxPatches int) (core.Tower, error) {
	tower, err := s.Backend.NewTower(cfg, maxPatches)
	if err != nil {
		return nil, err
	}
	s.towers.Add(1)
	return &spyTower{Tower: tower, spy: s, cfg: cfg}, nil
}

type spyTower struct {
	core.Tower
	spy     *spy
	cfg     core.TowerConfig
	patches int
}

func (t *spyTower) look() { t.spy.mapped = max(t.spy.mapped, pages.Usage()[packClass]) }

func (t *spyTower) Embed(patches []byte, gridW, gridH int, w core.TowerEmbedding) error {
	t.patches = gridW * gridH
	t.look()
	return t.Tower.Embed(patches, gridW, gridH, w)
}

func (t *spyTower) Layer(w core.TowerLayer) error {
	t.look()
	if err := t.Tower.Layer(w); err != nil || t.spy.layer == nil {
		return err
	}
	return t.spy.layer(nil)
}

func (t *spyTower) Project(w core.Affine, dst []float32) error {
	t.look()
	rows := make([]float32, t.patches/(t.cfg.Pool*t.cfg.Pool)*t.cfg.Hidden)
	if err := t.Tower.Pooled(rows); err != nil {
		return err
	}
	t.spy.pooled = append(t.spy.pooled, rows)
	if err := t.Tower.Project(w, dst); err != nil || t.spy.layer == nil {
		return err
	}
	return t.spy.layer(dst)
}

func (t *spyTower) Close() error {
	t.spy.towers.Add(-1)
	return t.Tower.Close()
}

// packClass is the class under which package visionpack maps.
const packClass = "image tower"

func newSpy(t testing.TB) *spy {
	t.Helper()
	return spyOn(t, cpu.Options{})
}

// exactSpy keeps activations in float32.
func exactSpy(t testing.TB) *spy {
	t.Helper()
	return spyOn(t, cpu.Options{Float32: true})
}

func spyOn(t testing.TB, o cpu.Options) *spy {
	t.Helper()
	backend, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &spy{Backend: backend}
}

// load opens the model at path with the extension; change may be nil. The extension must start.
func load(t testing.TB, path string, s *spy, o Options, change func(*core.Options)) (*core.Runtime, *Extension) {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	rt := loadWith(t, path, s, change, x)
	if state := rt.Extensions()[0]; state.Err != nil {
		t.Fatal(state.Err)
	}
	return rt, x
}

func loadWith(
	t testing.TB, path string, b core.Backend, change func(*core.Options), x ...core.Extension,
) *core.Runtime {
	t.Helper()
	opts := core.Options{Backend: b, MaxContext: 2048, Extensions: x}
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

func session(t testing.TB, rt *core.Runtime) *core.Session {
	t.Helper()
	s, err := rt.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A testCase is a conversation with pictures by file name, as the demo model's sets have it.
type testCase struct {
	ID, Kind, Expected, Reference string
	Images                        []string
	Messages                      []struct {
		Role    text.Role
		Content json.RawMessage
	}
}

func readCases(t testing.TB, folder string) []testCase {
	t.Helper()
	var all, pictures []testCase
	if err := json.Unmarshal(readFile(t, folder, "cases.json"), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if len(c.Images) > 0 {
			pictures = append(pictures, c)
		}
	}
	return pictures
}

// conversation returns the case and its pictures, which lie in folder.
func (c *testCase) conversation(t testing.TB, folder string) (text.Conversation, []core.Media) {
	t.Helper()
	var out text.Conversation
	var media []core.Media
	for _, m := range c.Messages {
		var plain string
		if json.Unmarshal(m.Content, &plain) == nil {
			out.Messages = append(out.Messages, text.Message{Role: m.Role, Content: text.Plain(plain)})
			continue
		}
		var parts []struct{ Type, File, Text string }
		if err := json.Unmarshal(m.Content, &parts); err != nil {
			t.Fatal(err)
		}
		var content []text.Part
		for _, p := range parts {
			content = append(content, text.Part{Image: p.Type == "image", Text: p.Text})
			if p.Type == "image" {
				media = append(media, core.Media{Name: p.File, Data: readFile(t, folder, p.File)})
			}
		}
		out.Messages = append(out.Messages, text.Message{Role: m.Role, Content: text.List(content...)})
	}
	return out, media
}

func prepare(t testing.TB, rt *core.Runtime, c text.Conversation, media []core.Media) *core.Prompt {
	t.Helper()
	p, err := rt.Prepare(t.Context(), c, media)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func prefill(t testing.TB, s *core.Session, p *core.Prompt) core.Prefilled {
	t.Helper()
	done, err := s.Prefill(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// greedy decodes; a stop id is appended, as the references have it.
func greedy(t testing.TB, s *core.Session, limit int) []int32 {
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

// readNpy reads an array of float32 or float16.
func readNpy(t testing.TB, name string) []float32 {
	t.Helper()
	data := readFile(t, "goldens", name)
	if len(data) < 10 || string(data[:6]) != "\x93NUMPY" {
		t.Fatalf("%s is no array", name)
	}
	end := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	header, data := string(data[:end]), data[end:]
	var out []float32
	switch {
	case strings.Contains(header, "'<f4'"):
		for ; len(data) > 0; data = data[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
	case strings.Contains(header, "'<f2'"):
		for ; len(data) > 0; data = data[2:] {
			out = append(out, halfToFloat(binary.LittleEndian.Uint16(data)))
		}
	default:
		t.Fatalf("%s: %s", name, header)
	}
	return out
}

// halfToFloat widens a finite IEEE half by its definition.
func halfToFloat(h uint16) float32 {
	exponent, mantissa := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(mantissa, -24)
	if exponent > 0 {
		v = math.Ldexp(1024+mantissa, exponent-25)
	}
	if h>>15 == 1 {
		v = -v
	}
	return float32(v)
}

// relative is the largest difference in units of the reference's largest value; a NaN or another length gives +Inf.
func relative(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	top, worst := 0.0, 0.0
	for i := range want {
		top = max(top, math.Abs(float64(want[i])))
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst / top
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
