package synth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/text"
)

var ctx = context.Background()

func base(t testing.TB) fs.FS {
	t.Helper()
	tokenizer, err := fs.Sub(testdata.Demo(), "tokenizer")
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func source(t testing.TB, config []byte) *Source {
	t.Helper()
	s, err := New(Options{Config: config, Tokenizer: base(t)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readAll(t testing.TB, s *Source, name string, off, n int64) []byte {
	t.Helper()
	r, err := s.Open(ctx, name, off, n)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The table of the recipe's specification.
func TestCheckValues(t *testing.T) {
	if got := seed("x"); got != 0x44b026b74216712d {
		t.Errorf("seed(x) = %#x", got)
	}
	for _, c := range []struct {
		name string
		i    uint64
		word uint64
		unit float64
	}{
		{"x", 0, 0x3dd661bccc3e551a, 0.2415524125099182},
		{"x", 1, 0x57df189ae6c0508a, 0.3432478904724121},
		{"language_model.model.embed_tokens.weight", 0, 0x7b8969790d33bc37, 0.4825654625892639},
		{"language_model.model.embed_tokens.weight", 92274687, 0xf7cd9c1b74b6dbf2, 0.9679811000823975},
		{"language_model.model.layers.29.experts.switch_glu.down_proj.scales", 3964927,
			0x0524e1a51bb4f1e3, 0.020093977451324463},
	} {
		w := word(seed(c.name), c.i)
		if w != c.word || float64(unit(w)) != c.unit {
			t.Errorf("%s, %d: word %#x unit %v, want %#x %v", c.name, c.i, w, unit(w), c.word, c.unit)
		}
	}
}

func TestBytesEqualThoseOfAnotherProgram(t *testing.T) {
	b, err := os.ReadFile("testdata/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	s := source(t, Thin())
	snap, err := install.LoadSnapshot(ctx, s, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, digest := range want {
		tensor, ok := snap.Tensors[name]
		if !ok {
			t.Errorf("%s is not in the checkpoint", name)
			continue
		}
		sum := sha256.Sum256(readAll(t, s, tensor.Shard, tensor.Offset, tensor.Size))
		if hex.EncodeToString(sum[:]) != digest {
			t.Errorf("%s: wrong bytes", name)
		}
	}
}

func TestARangeDoesNotDependOnHowItIsCut(t *testing.T) {
	s := source(t, Thin())
	const name = "model-00001-of-00001.safetensors"
	size, err := s.Size(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	whole := readAll(t, s, name, 0, size)
	if int64(len(whole)) != size {
		t.Fatalf("%d bytes of %d", len(whole), size)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 90 {
		n := rng.Int64N(1 + []int64{5, 3000, 100_000}[i%3])
		off := rng.Int64N(size - n + 1)
		if i%10 == 0 {
			off = size - n
		}
		if !bytes.Equal(readAll(t, s, name, off, n), whole[off:off+n]) {
			t.Fatalf("%d bytes at %d differ", n, off)
		}
	}
}

func TestFullHasTheNumbersOfTheRealCheckpoint(t *testing.T) {
	snap, err := install.LoadSnapshot(ctx, source(t, nil), "")
	if err != nil {
		t.Fatal(err)
	}
	var total, tower int64
	for name, tensor := range snap.Tensors {
		total += tensor.Size
		if strings.HasPrefix(name, "vision_tower.") || strings.HasPrefix(name, "embed_vision.") {
			tower += tensor.Size
		}
	}
	if len(snap.Tensors) != 1697 || total != 15_340_981_404 || tower != 1_140_925_536 {
		t.Errorf("%d tensors, %d bytes, %d of the tower; want 1697, 15340981404, 1140925536",
			len(snap.Tensors), total, tower)
	}
	if len(snap.ShardSizes) != 3 {
		t.Errorf("%d shards, want 3", len(snap.ShardSizes))
	}
}

func TestThinInstallsAndVerifies(t *testing.T) {
	out := filepath.Join(t.TempDir(), "thin.gturbo")
	s := source(t, Thin())
	if _, err := install.Install(ctx, install.Options{Source: s, Output: out, AllowUnknown: true, Reserve: 1}); err != nil {
		t.Fatal(err)
	}
	in, err := gturbo.Open(ctx, out, gturbo.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	scale, err := in.Tensor("language_model.model.layers.9.router.scale")
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 1024)
	plain("language_model.model.layers.9.router.scale", []int64{512})(want, 0)
	if !bytes.Equal(scale.Data, want) {
		t.Error("router.scale of layer 9 is not what the recipe gives")
	}
	f, err := in.OpenLayer(4)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const expert, codesOfOne = 17, 192 * 512 / 2
	got := make([]byte, codesOfOne)
	if _, err := f.ReadAt(got, in.ExpertOffset(4, expert)+int64(in.Experts().Up.Codes)); err != nil {
		t.Fatal(err)
	}
	want = make([]byte, codesOfOne)
	codes("language_model.model.layers.4.experts.switch_glu.up_proj.weight")(want, expert*codesOfOne/4)
	if !bytes.Equal(got, want) {
		t.Error("the up projection of expert 17 of layer 4 is not what the recipe gives")
	}
}

func TestTokenizerIsPaddedAndMediaTokensMove(t *testing.T) {
	for name, c := range map[string]struct {
		config []byte
		ids    map[string]int32
	}{
		"full": {Full(), map[string]int32{"<bos>": 2, "<|turn>": 105, "<|image>": 255999, "<|audio>": 256000,
			"<|image|>": 258880, "<|audio|>": 258881, "<image|>": 258882, "<audio|>": 258883, "<|video|>": 258884}},
		"thin": {Thin(), map[string]int32{"<bos>": 2, "<turn|>": 106, "<|image>": 4088, "<|video|>": 4094}},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t, c.config)
			tok, err := text.LoadTokenizer(s.small["tokenizer.json"])
			if err != nil {
				t.Fatal(err)
			}
			m, err := parse(c.config)
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Size(); got != m.Arch.VocabSize {
				t.Errorf("vocabulary of %d, want %d", got, m.Arch.VocabSize)
			}
			for token, want := range c.ids {
				if got, ok := tok.Special(token); !ok || got != want {
					t.Errorf("%s has id %d (%v), want %d", token, got, ok, want)
				}
			}
		})
	}
}

func TestWhatTheRecipeCannotMakeIsRefused(t *testing.T) {
	edit := func(old, new string) []byte {
		config := strings.Replace(string(Thin()), old, new, 1)
		if config == string(Thin()) {
			t.Fatalf("%q is not in the configuration", old)
		}
		return []byte(config)
	}
	for name, config := range map[string][]byte{
		"no JSON":                         []byte("{"),
		"another bit width":               edit(`"bits": 8`, `"bits": 4`),
		"a tower without layers":          edit(`"num_hidden_layers": 3`, `"num_hidden_layers": 0`),
		"an image token past the end":     edit(`"image_token_id": 4090`, `"image_token_id": 4096`),
		"per-layer inputs":                edit(`"hidden_size_per_layer_input": 0`, `"hidden_size_per_layer_input": 8`),
		"heads without whole groups":      edit(`"head_dim": 64`, `"head_dim": 72`),
		"a tower that does not parse":     edit(`"patch_size": 16`, `"patch_size": "16"`),
		"a projector of ragged groups":    edit(`"hidden_size": 576`, `"hidden_size": 580`),
		"an override of another tensor":   edit(`"mode": "affine"`, `"language_model.model.embed_tokens": {"bits": 8}`),
		"a media id that is not a number": edit(`"video_token_id": 4094`, `"video_token_id": "x"`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Options{Config: config, Tokenizer: base(t)}); !errors.Is(err, ErrConfig) {
				t.Errorf("%v, want ErrConfig", err)
			}
		})
	}
	for name, tokenizer := range map[string]fs.FS{
		"no tokenizer":    nil,
		"an empty folder": fstest.MapFS{},
		"a broken file":   fstest.MapFS{"tokenizer.json": {Data: []byte("{")}, "tokenizer_config.json": {}},
		"an id past the end": fstest.MapFS{"tokenizer_config.json": {}, "tokenizer.json": {
			Data: []byte(`{"added_tokens":[],"model":{"vocab":{"a":4096}}}`)}},
		"two tokens with one id": fstest.MapFS{"tokenizer_config.json": {}, "tokenizer.json": {
			Data: []byte(`{"added_tokens":[],"model":{"vocab":{"a":1,"b":1}}}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Options{Config: Thin(), Tokenizer: tokenizer}); !errors.Is(err, ErrTokenizer) {
				t.Errorf("%v, want ErrTokenizer", err)
			}
		})
	}
}

func TestRangesOutsideOfAFileAreRefused(t *testing.T) {
	s := source(t, Thin())
	if _, err := s.Size(ctx, "model-00002-of-00002.safetensors"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	size, _ := s.Size(ctx, "config.json")
	for _, c := range [][2]int64{{-1, 1}, {0, size + 1}, {size, 1}, {1 << 62, 1 << 62}, {0, -1}} {
		if _, err := s.Open(ctx, "config.json", c[0], c[1]); !errors.Is(err, ErrRange) {
			t.Errorf("%v: %v, want ErrRange", c, err)
		}
	}
	canceled, cancel := context.WithCancel(ctx)
	r, err := s.Open(canceled, "model-00001-of-00001.safetensors", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Read(make([]byte, 100)); err != context.Canceled {
		t.Errorf("%v, want context.Canceled as it is", err)
	}
}

// The whole way of two layers of the true shapes: computed, written, read back, hashed.
func BenchmarkInstall(b *testing.B) {
	var config map[string]any
	if err := json.Unmarshal(Full(), &config); err != nil {
		b.Fatal(err)
	}
	words := config["text_config"].(map[string]any)
	words["num_hidden_layers"], words["vocab_size"] = 2, 4096
	words["layer_types"] = []string{"sliding_attention", "full_attention"}
	delete(config, "vision_config")
	overrides := map[string]any{"group_size": 64, "bits": 4, "mode": "affine"}
	for _, layer := range []string{"0", "1"} {
		overrides["language_model.model.layers."+layer+".router.proj"] = map[string]int{"bits": 8}
	}
	config["quantization"] = overrides
	for _, key := range []string{"boi", "boa", "image", "audio", "eoi", "eoa", "video"} {
		delete(config, key+"_token_id")
	}
	s := source(b, mustJSON(config))
	for b.Loop() {
		out := filepath.Join(b.TempDir(), "two.gturbo")
		r, err := install.Install(ctx, install.Options{Source: s, Output: out, AllowUnknown: true})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(r.OutputBytes)
	}
}

// One core's speed for an expert's tensors, the bulk of the model.
func BenchmarkRead(b *testing.B) {
	s := source(b, nil)
	buf := make([]byte, 512<<10)
	name := "model-00002-of-00003.safetensors"
	b.SetBytes(64 << 20)
	for b.Loop() {
		r, err := s.Open(ctx, name, 1<<20, 64<<20)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, buf); err != nil {
			b.Fatal(err)
		}
	}
}
