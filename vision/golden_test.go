package vision

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/gturbo/synth"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/text"
)

// Tolerances against the float32 reference, in units of its largest value; what was measured on amd64 stands beside.
const (
	towerTolerance = 1e-3 // pooled rows: 9e-7; soft tokens: 6e-7, 5e-5 with int16 activations
	logitsExact    = 1e-5 // K and V in float32: 8e-7
	logitsInt16    = 1e-4 // and activations in int16: 3e-5
	logitsInt8     = 1e-2 // and activations in int8: 6e-3
	logitsHalf     = 5e-4 // K and V in float16: 1.1e-4
	goldenPictures = 7    // cases with pictures
)

// A golden is what the reference says about one prompt.
type golden struct {
	InputIDs  []int32 `json:"input_ids"`
	GreedyIDs []int32 `json:"greedy_ids"`
	// Hidden holds the output of each stage over all positions: the mask of full layers shows in the last layer only.
	Hidden map[string]struct{ Mean, Std float64 }
}

// moments are what a golden says of a layer's output.
type moments struct{ n, sum, squares float64 }

// watchLayers gathers the moments of the embeddings and of every layer's output, from now on.
func watchLayers(t testing.TB, rt *core.Runtime) []moments {
	t.Helper()
	layers := make([]moments, len(rt.Config().Layers)+1)
	remove, err := rt.Observe(&core.Observer{Residual: func(l gturbo.LayerID, _ *core.Batch, x []float32) {
		m := &layers[l+1]
		for _, v := range x {
			m.n++
			m.sum += float64(v)
			m.squares += float64(v) * float64(v)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return layers
}

// compareLayers returns the largest difference of means and deviations, in units of the reference's deviation.
func (g *golden) compareLayers(t testing.TB, layers []moments) float64 {
	t.Helper()
	worst := 0.0
	for i, m := range layers {
		name := "embeddings"
		if i > 0 {
			name = fmt.Sprintf("layer.%d", i-1)
		}
		want, ok := g.Hidden[name]
		if !ok {
			t.Fatalf("the golden does not know %s", name)
		}
		mean := m.sum / m.n
		std := math.Sqrt(m.squares/m.n - mean*mean)
		worst = max(worst, math.Abs(mean-want.Mean)/want.Std, math.Abs(std-want.Std)/want.Std)
	}
	return worst
}

// The whole path from files to words: one picture, two pictures, several turns, odd shapes; every set of kernels.
func TestDemoGoldens(t *testing.T) {
	for i, kernels := range cpu.KernelSets() {
		t.Run(kernels, func(t *testing.T) {
			exact := logitsExact
			switch {
			case strings.HasSuffix(kernels, "-int8"):
				exact = logitsInt8
			case rounds(kernels):
				exact = logitsInt16
			}
			cases := readCases(t, "goldens")
			if len(cases) != goldenPictures {
				t.Fatalf("%d cases with pictures, want %d", len(cases), goldenPictures)
			}
			if kernels == "plain" && i > 0 {
				cases = cases[:1] // slow, and held to the others by the backend's own tests
			}
			sameAsGoldens(t, cases, kernels, core.KVFloat32, exact)
			if i == 0 {
				sameAsGoldens(t, cases, kernels, core.KVFloat16, max(logitsHalf, exact))
			}
		})
	}
}

func sameAsGoldens(t *testing.T, cases []testCase, kernels string, kv core.KVType, tolerance float64) {
	s := spyOn(t, cpu.Options{Kernels: kernels})
	rt, x := load(t, demo(t), s, Options{}, func(o *core.Options) { o.KV = kv })
	if x.Budget() != 70 {
		t.Errorf("the budget is %d, the pack's processor file says 70", x.Budget())
	}
	var soft []float32
	s.layer = func(rows []float32) error {
		soft = append(soft, rows...)
		return nil
	}
	for _, c := range cases {
		var g golden
		if err := json.Unmarshal(readFile(t, "goldens", c.ID+".json"), &g); err != nil {
			t.Fatal(err)
		}
		conversation, media := c.conversation(t, "goldens")
		p := prepare(t, rt, conversation, media)
		if !slices.Equal(p.Tokens, g.InputIDs) {
			t.Fatalf("%s: ids %v, want %v", c.ID, p.Tokens, g.InputIDs)
		}
		soft, s.pooled = nil, nil
		ses := session(t, rt)
		moments := watchLayers(t, rt)
		prefill(t, ses, p)
		layers := g.compareLayers(t, moments)
		tower := relative(slices.Concat(s.pooled...), readNpy(t, c.ID+".vision.npy"))
		tokens := relative(soft, readNpy(t, c.ID+".soft.npy"))
		logits := relative(ses.Logits(), readNpy(t, c.ID+".logits.npy"))
		t.Logf("%s: tower %.1e, soft tokens %.1e, layers %.1e, logits %.1e", c.ID, tower, tokens, layers, logits)
		if tower > towerTolerance || tokens > towerTolerance {
			t.Errorf("%s: tower off by %.2e, soft tokens by %.2e", c.ID, tower, tokens)
		}
		if logits > tolerance || layers > tolerance {
			t.Errorf("%s: logits off by %.2e, layers by %.2e", c.ID, logits, layers)
		}
		if got := greedy(t, ses, 100); !slices.Equal(got, g.GreedyIDs) {
			t.Errorf("%s: answer %v, want %v", c.ID, got, g.GreedyIDs)
		}
	}
}

// In the demo model the one full layer is the last: its output tells which mask was used there, the words cannot.
func TestFullLayersAreCausalInsidePictures(t *testing.T) {
	c := readCases(t, "goldens")[0]
	var g golden
	if err := json.Unmarshal(readFile(t, "goldens", c.ID+".json"), &g); err != nil {
		t.Fatal(err)
	}
	for mask, same := range map[core.SpanMask]bool{core.SpanSliding: true, core.SpanEverywhere: false} {
		rt, _ := load(t, demo(t), exactSpy(t), Options{}, func(o *core.Options) { o.SpanMask = mask })
		conversation, media := c.conversation(t, "goldens")
		p := prepare(t, rt, conversation, media)
		layers := watchLayers(t, rt)
		logits := logitsOf(t, rt, p)
		if off := g.compareLayers(t, layers); off < 1e-4 != same {
			t.Errorf("mask %d: layers off by %.1e, same as the reference: %t", mask, off, same)
		}
		if off := relative(logits, readNpy(t, c.ID+".logits.npy")); off > logitsHalf {
			t.Errorf("mask %d: logits off by %.1e", mask, off)
		}
	}
}

// syntheticPicture is the picture of a synthetic model as a file: its patches are given, and nothing is resized when
// its size is a budget's.
func syntheticPicture(t testing.TB, gridW, gridH int) []byte {
	t.Helper()
	const side = 16
	img := image.NewNRGBA(image.Rect(0, 0, gridW*side, gridH*side))
	for p := range gridW * gridH {
		x, y := p%gridW, p/gridW
		base := (float64(x*255/gridW) + float64(y*255/gridH)) / 2
		for i := range side * side * 3 {
			noise := float64(word("picture", p*side*side*3+i) & 255)
			v := byte(math.Floor(base*0.75 + noise*0.25))
			at := img.PixOffset(x*side+i/3%side, y*side+i/3/side)
			img.Pix[at+i%3], img.Pix[at+3] = v, 255
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// word is the synthetic model's random word i of a name, by its definition.
func word(name string, i int) uint64 {
	sum := sha256.Sum256([]byte(name))
	z := binary.LittleEndian.Uint64(sum[:]) + uint64(i+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// synthetic installs the generated model of a config.json with its pack and returns the model's path.
func synthetic(t testing.TB, config []byte) string {
	t.Helper()
	words, err := fs.Sub(testdata.Demo(), "tokenizer")
	if err != nil {
		t.Fatal(err)
	}
	src, err := synth.New(synth.Options{Config: config, Tokenizer: words})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "synthetic.gturbo")
	opts := install.Options{Source: src, Output: path, AllowUnknown: true, Reserve: 1}
	if _, err := install.Install(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	opts.Output = ""
	if _, err := install.InstallPack(t.Context(), install.PackOptions{Options: opts, TextModel: path}); err != nil {
		t.Fatal(err)
	}
	return path
}

var fullInstall = flag.String("full", "", "an install by `fieldfare dev synth --vision` to compare with its golden")

// Awkward shapes: vision heads of 72, 40 experts.
func TestThinGolden(t *testing.T) {
	compareSynthetic(t, synthetic(t, synth.Thin()), "thin-image", 33, 18, 1)
}

// The shapes of the 26B.
func TestFullGolden(t *testing.T) {
	if *fullInstall == "" {
		t.Skip("-full names the install to run")
	}
	compareSynthetic(t, *fullInstall, "full-image", 57, 42, fullEvery)
}

// compareSynthetic runs the prompt with the picture of a synthetic model. A random network amplifies rounding; the
// reference says by how much. The golden file keeps every softEvery-th soft token.
func compareSynthetic(t *testing.T, path, id string, gridW, gridH, softEvery int) {
	var g struct {
		golden
		Moved float64 `json:"moved_by_1e-6"` // how far the logits move when the embeddings do by a relative 1e-6
	}
	if err := json.Unmarshal(readFile(t, "goldens", id+".json"), &g); err != nil {
		t.Fatal(err)
	}
	s := exactSpy(t)
	var soft []float32
	s.layer = func(rows []float32) error {
		soft = append(soft, rows...)
		return nil
	}
	rt, _ := load(t, path, s, Options{}, func(o *core.Options) { o.KV, o.MaxContext = core.KVFloat32, 512 })
	media := []core.Media{{Name: id, Data: syntheticPicture(t, gridW, gridH)}}
	place := text.Message{Role: text.RoleUser, Content: text.List(text.Part{Image: true})}
	p := prepare(t, rt, text.Conversation{Messages: []text.Message{place}}, media)
	// The reference's prompt is no conversation: take the span to where it stands there.
	span := &p.Spans[0]
	lo := slices.Index(g.InputIDs, p.Tokens[span.Lo])
	span.Lo, span.Hi, p.Tokens, p.Turns = lo, lo+span.Hi-span.Lo, g.InputIDs, nil
	ses := session(t, rt)
	prefill(t, ses, p)
	tokens := relative(everyRow(soft, rt.Config().Hidden, softEvery), readNpy(t, id+".soft.npy"))
	want := readNpy(t, id+".logits.npy")
	off := 0.0
	for i, v := range ses.Logits() {
		off = max(off, math.Abs(float64(v)-float64(want[i])))
	}
	t.Logf("soft tokens %.1e, logits off by %.1e, the reference moves by %.1e", tokens, off, g.Moved)
	if tokens > towerTolerance {
		t.Errorf("soft tokens off by %.2e", tokens)
	}
	if !(off <= 10*g.Moved) {
		t.Errorf("logits off by %.1e, want at most ten times %.1e", off, g.Moved)
	}
	if got := greedy(t, ses, len(g.GreedyIDs)); !slices.Equal(got, g.GreedyIDs) {
		t.Errorf("answer %v, want %v", got, g.GreedyIDs)
	}
}

// rounds tells whether a set of kernels rounds activations.
func rounds(kernels string) bool {
	return cpu.Options{Kernels: kernels, Float32: true}.Validate() != nil
}
