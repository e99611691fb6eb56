package gturbo

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "gturbo-v1", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFixturesOfTheOriginalWriterRoundTripByteForByte(t *testing.T) {
	for _, c := range []struct {
		name, digest string
		reencode     func([]byte) ([]byte, error)
	}{
		{"manifest.json", "f0c4d01ac7f1747416a0274dd26bb585e2e43ae294b02a8daf272e7129d46dce",
			func(data []byte) ([]byte, error) {
				m, err := DecodeManifest(data)
				if err != nil {
					return nil, err
				}
				return m.Encode()
			}},
		{"layout.json", "acf57a355128d1d8afb1d09b75dc1aa7fef98687871b1ff9f738dd511cb6e341",
			func(data []byte) ([]byte, error) {
				l, err := DecodeLayout(data)
				if err != nil {
					return nil, err
				}
				return l.Encode()
			}},
		{"resident-index.bin", "aa705246112c17d4b60422a2705bda53e96553f7ff96e09b00e6fbb5a4ffa594",
			func(data []byte) ([]byte, error) {
				x, err := ReadIndex(bytes.NewReader(data), int64(len(data)))
				if err != nil {
					return nil, err
				}
				return x.Encode()
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := fixture(t, c.name)
			if got := SHA256(data); got != c.digest {
				t.Fatalf("the fixture has digest %s, want %s", got, c.digest)
			}
			again, err := c.reencode(data)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, data) {
				t.Fatalf("re-encoded to other bytes:\n%s", again)
			}
		})
	}
}

// TestPinnedModelHasItsKnownNumbers builds index and layout of the 26B install from its dimensions alone. Sizes are
// the documented ones; the digests were computed by another implementation of the format.
func TestPinnedModelHasItsKnownNumbers(t *testing.T) {
	a := pinnedArch()
	index, err := PlanIndex(tinyEntries(a, &Quant{
		Embedding: AffineSlot(4), Attention: AffineSlot(4), Router: AffineSlot(8), SharedExpert: AffineSlot(4),
	}))
	if err != nil {
		t.Fatal(err)
	}
	head, err := index.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if index.IndexSize != 81920 || index.ResidentSize != 1353689148 || len(index.Entries) != 597 {
		t.Errorf("index %d, payload %d, %d entries", index.IndexSize, index.ResidentSize, len(index.Entries))
	}
	if got := SHA256(head); got != "0c99c7dffed86d99ba1756854b130e8b9f721d4483a410ece99f9dc134fcd293" {
		t.Errorf("index digest %s", got)
	}
	layout, err := tinyLayout(a).Encode()
	if err != nil {
		t.Fatal(err)
	}
	got := SHA256(layout)
	if len(layout) != 8450186 || got != "1fc209dfda8c3f50e26ff8add469aa50fff497a41ba4dca19960e60a60d31593" {
		t.Errorf("layout: %d bytes, digest %s", len(layout), got)
	}
	l, err := DecodeLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	if l.ExpertStride != 3358720 {
		t.Errorf("stride %d", l.ExpertStride)
	}
	blob, err := expertLayout(l, &a, &Quant{RoutedExpert: AffineSlot(4)})
	if err != nil {
		t.Fatal(err)
	}
	want := ExpertLayout{
		Stride: 3358720,
		Gate:   AffineRange{0, 991232, 1053184, 704, 2816, 4},
		Up:     AffineRange{1115136, 2106368, 2168320, 704, 2816, 4},
		Down:   AffineRange{2230272, 3221504, 3283456, 2816, 704, 4},
	}
	if blob != want {
		t.Errorf("expert layout %+v", blob)
	}
}

func pinnedArch() Arch {
	a := Arch{
		HiddenSize: 2816, FFNIntermediate: 2112, MoEIntermediateSize: 704, NumHeads: 16, NumKVHeads: 8,
		NumFullKVHeads: 2, HeadDim: 256, FullHeadDim: 512, VocabSize: 262144, SlidingWindow: 1024,
		FinalLogitSoftcap: 30, RopeTheta: 10000, FullRopeTheta: 1000000, PartialRotaryFactor: 0.25, NumLayers: 30,
		NumExperts: 128, TopKExperts: 8, TieWordEmbeddings: true, AttentionKEqV: true,
		HiddenActivation: "gelu_pytorch_tanh", FullAttentionLayerMask: make([]int, 30),
	}
	for layer := 5; layer < 30; layer += 6 {
		a.FullAttentionLayerMask[layer] = 1
	}
	return a
}

// A change makes one mistake in a JSON document, given as the tree that encoding/json decodes.
type change func(document map[string]any)

// at walks dotted keys and array positions and returns the container and the last key.
func at(document any, path string) (container any, last string) {
	steps := strings.Split(path, "/")
	for _, step := range steps[:len(steps)-1] {
		switch c := document.(type) {
		case map[string]any:
			document = c[step]
		case []any:
			document = c[position(step)]
		}
	}
	return document, steps[len(steps)-1]
}

func position(step string) int { return int(step[0] - '0') }

func set(path string, value any) change {
	return func(document map[string]any) {
		switch c, last := at(document, path); c := c.(type) {
		case map[string]any:
			c[last] = value
		case []any:
			c[position(last)] = value
		default:
			panic("no container at " + path)
		}
	}
}

func remove(path string) change {
	return func(document map[string]any) {
		c, last := at(document, path)
		if _, ok := c.(map[string]any)[last]; !ok {
			panic("no key at " + path)
		}
		delete(c.(map[string]any), last)
	}
}

func changes(all ...change) change {
	return func(document map[string]any) {
		for _, c := range all {
			c(document)
		}
	}
}

func mutate(t testing.TB, data []byte, c change) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var document map[string]any
	if err := d.Decode(&document); err != nil {
		t.Fatal(err)
	}
	c(document)
	out, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rejection is one row of a table of mistakes: the sentinel and the class that the error must match.
type rejection struct {
	name        string
	change      change
	want, class error
}

func (c rejection) run(t *testing.T, data []byte, decode func([]byte) error) {
	t.Run(c.name, func(t *testing.T) {
		err := decode(mutate(t, data, c.change))
		if !errors.Is(err, c.want) || c.class != nil && !errors.Is(err, c.class) {
			t.Fatalf("got %v, want %q", err, c.want)
		}
	})
}

// jsonRejections removes, nulls and mistypes each key in turn.
func jsonRejections(t *testing.T, data []byte, required, optional []string, decode func([]byte) error) {
	for _, path := range required {
		rejection{path + " missing", remove(path), strictjson.ErrMissing, nil}.run(t, data, decode)
		rejection{path + " null", set(path, nil), strictjson.ErrNull, nil}.run(t, data, decode)
	}
	for _, path := range append(required, optional...) {
		wrong := any([]any{true})
		if c, last := at(mutateTree(t, data), path); isArray(c, last) {
			wrong = map[string]any{}
		}
		rejection{path + " of another type", set(path, wrong), strictjson.ErrType, nil}.run(t, data, decode)
	}
	for _, path := range optional {
		for name, c := range map[string]change{" missing": remove(path), " null": set(path, nil)} {
			t.Run(path+name+" is accepted", func(t *testing.T) {
				if err := decode(mutate(t, data, c)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func mutateTree(t testing.TB, data []byte) map[string]any {
	var tree map[string]any
	mutate(t, data, func(document map[string]any) { tree = document })
	return tree
}

func isArray(container any, key string) bool {
	m, ok := container.(map[string]any)
	if !ok {
		return false
	}
	_, ok = m[key].([]any)
	return ok
}

// The committed demo install came from the installer. What this package reads of it, it writes again unchanged.
func TestDemoInstallRoundTripsByteForByte(t *testing.T) {
	const dir = "../testdata/demo.gturbo"
	in := open(t, dir, OpenOptions{})
	manifest, err := in.Manifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	layout, err := in.layout.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{ManifestFile: manifest, LayoutFile: layout} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: re-encoded to other bytes", name)
		}
	}
	weights, err := os.ReadFile(filepath.Join(dir, WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	x, err := DecodeIndex(weights)
	if err != nil {
		t.Fatal(err)
	}
	if head, err := x.Encode(); err != nil || !bytes.Equal(head, weights[:x.IndexSize]) {
		t.Errorf("index: re-encoded to other bytes, %v", err)
	}
	for layer := range in.layout.NumLayers {
		f, err := in.OpenLayer(LayerID(layer))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}
