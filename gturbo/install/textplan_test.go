package install

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

// TestEveryTensorArrivesUnchanged reads an install through the format's own reader and compares each tensor, found by
// name, with its bytes in the checkpoint: nothing here knows about plans.
func TestEveryTensorArrivesUnchanged(t *testing.T) {
	d := tiny()
	c := newCheckpointFiles(d)
	r := newRig(t)
	weights := []byte(r.want[gturbo.WeightsFile])
	index, err := gturbo.DecodeIndex(weights[:gturbo.Align])
	if err != nil {
		t.Fatal(err)
	}
	layout, err := gturbo.DecodeLayout([]byte(r.want[gturbo.LayoutFile]))
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for name := range c.tensors {
		left[name] = strings.HasPrefix(name, languagePrefix)
	}
	same := func(name string, got, want []byte) {
		t.Helper()
		left[name] = false
		if !bytes.Equal(got, want) {
			t.Errorf("%s has other bytes", name)
		}
	}
	at := func(e gturbo.Extent) []byte { return weights[e.Offset : e.Offset+e.Size] }
	for _, e := range index.Entries {
		same(e.Name, at(e.Weights), payload(c.tensors[e.Name]))
		if base := strings.TrimSuffix(e.Name, ".weight"); e.Scales.Size > 0 {
			same(base+".scales", at(e.Scales), payload(c.tensors[base+".scales"]))
			same(base+".biases", at(e.Biases), payload(c.tensors[base+".biases"]))
		}
	}
	for _, layer := range layout.Layers {
		file := r.want[layout.LayerFile(layer.Layer)]
		for role, kind := range map[string]string{"": ".weight", "_scales": ".scales", "_biases": ".biases"} {
			for _, proj := range []string{"gate", "up", "down"} {
				name := fmt.Sprintf("language_model.model.layers.%d.experts.switch_glu.%s_proj%s", layer.Layer, proj, kind)
				whole := payload(c.tensors[name])
				slice := len(whole) / d.experts
				for id, expert := range layer.Experts {
					sub := expert.Tensors[proj+role]
					got := file[expert.Offset+sub.Offset : expert.Offset+sub.Offset+sub.Size]
					same(name, []byte(got), whole[id*slice:(id+1)*slice])
				}
			}
		}
	}
	for name, missed := range left {
		if missed {
			t.Errorf("%s is nowhere in the install", name)
		}
	}
}

// TestEntriesFollowTheFormatsOrder sorts shuffled names and expects the order that the format describes.
func TestEntriesFollowTheFormatsOrder(t *testing.T) {
	want := []string{
		embeddingName,
		"language_model.model.layers.2.self_attn.q_proj.weight", "language_model.model.layers.2.self_attn.k_proj.weight",
		"language_model.model.layers.2.self_attn.v_proj.weight", "language_model.model.layers.2.self_attn.o_proj.weight",
		"language_model.model.layers.2.self_attn.q_norm.weight", "language_model.model.layers.2.self_attn.k_norm.weight",
		"language_model.model.layers.2.router.proj.weight", "language_model.model.layers.2.router.scale",
		"language_model.model.layers.2.router.per_expert_scale", "language_model.model.layers.2.mlp.gate_proj.weight",
		"language_model.model.layers.2.mlp.up_proj.weight", "language_model.model.layers.2.mlp.down_proj.weight",
		"language_model.model.layers.2.input_layernorm.weight",
		"language_model.model.layers.2.post_attention_layernorm.weight",
		"language_model.model.layers.2.pre_feedforward_layernorm.weight",
		"language_model.model.layers.2.pre_feedforward_layernorm_2.weight",
		"language_model.model.layers.2.post_feedforward_layernorm.weight",
		"language_model.model.layers.2.post_feedforward_layernorm_1.weight",
		"language_model.model.layers.2.post_feedforward_layernorm_2.weight", "language_model.model.layers.2.layer_scalar",
		"language_model.model.layers.2.another", "language_model.model.layers.10.self_attn.q_proj.weight",
		"language_model.model.another", finalNormName,
	}
	got := slices.Clone(want)
	slices.Sort(got)
	slices.SortFunc(got, func(a, b string) int { return keyOf(a).compare(keyOf(b)) })
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestCheckpointsThatCannotBeInstalledAreRefused(t *testing.T) {
	const (
		expert = "language_model.model.layers.1.experts.switch_glu.up_proj"
		dense  = "language_model.model.layers.0.mlp.up_proj"
	)
	change := func(name string, f func(*Tensor)) func(*Snapshot) {
		return func(s *Snapshot) {
			tensor := s.Tensors[name]
			tensor.Shape = slices.Clone(tensor.Shape)
			f(&tensor)
			s.Tensors[name] = tensor
		}
	}
	add := func(name, like string) func(*Snapshot) {
		return func(s *Snapshot) {
			tensor := s.Tensors[like]
			tensor.Name = name
			s.Tensors[name] = tensor
		}
	}
	without := func(name string) func(*Snapshot) {
		return func(s *Snapshot) { delete(s.Tensors, name) }
	}
	for _, c := range []struct {
		name string
		harm func(*Snapshot)
		want error
	}{
		{"a name of another family", add("lm_head.weight", dense+".weight"), ErrUnknownTensor},
		{"scales without weights", add("language_model.model.x.scales", dense+".scales"), ErrMissingTensor},
		{"weights without scales", without(dense + ".scales"), ErrMissingTensor},
		{"weights without biases", without(dense + ".biases"), ErrMissingTensor},
		{"scales of another type", change(dense+".scales", func(t *Tensor) { t.DType = F16 }), ErrTensor},
		{"a resident tensor that is absent", without("language_model.model.layers.0.router.scale"), gturbo.ErrTensorMissing},
		{"a resident tensor of another shape", change(finalNormName, func(t *Tensor) { t.Shape[0]-- }), gturbo.ErrTensorShape},
		{"a resident tensor of no bytes", change(finalNormName, func(t *Tensor) { t.Shape[0], t.Size = 0, 0 }), ErrTensor},
		{"a tensor beyond 32 bits", change(finalNormName, func(t *Tensor) { t.Shape[0] = 1 << 32 }), ErrTensor},
		{"one expert tensor absent", without(expert + ".weight"), ErrMissingTensor},
		{"expert scales absent", without(expert + ".scales"), ErrMissingTensor},
		{"experts that are not packed", change(expert+".weight", func(t *Tensor) { t.DType = BF16 }), ErrTensor},
		{"experts of rank 2", change(expert+".weight", func(t *Tensor) { t.Shape = t.Shape[1:] }), ErrTensor},
		{"another number of experts", change(expert+".weight", func(t *Tensor) { t.Shape[0]-- }), ErrTensor},
		{"expert scales of another rank", change(expert+".scales", func(t *Tensor) { t.Shape = t.Shape[:2] }), ErrTensor},
		{"experts of two names for one role", add("language_model.x.layers.1.experts.switch_glu.up_proj.weight", expert+".weight"), ErrMissingTensor},
		{"experts of a layer that does not exist", func(s *Snapshot) {
			for _, kind := range []string{".weight", ".scales", ".biases"} {
				add("language_model.model.layers.7.experts.switch_glu.up_proj"+kind, expert+kind)(s)
			}
		}, ErrUnknownTensor},
		{"bits that do not divide a word", func(s *Snapshot) { s.Parsed.Quantization.Bits = 5 }, ErrTensor},
		{"experts of another width than the configuration's", func(s *Snapshot) { s.Parsed.Arch.MoEIntermediateSize = 128 }, gturbo.ErrTensorShape},
		{"eight bits where four are read", func(s *Snapshot) { s.Parsed.Quantization.Bits = 8 }, gturbo.ErrQuantScheme},
	} {
		t.Run(c.name, func(t *testing.T) {
			snap, err := LoadSnapshot(t.Context(), headerSource{newCheckpointFiles(tiny())}, "")
			if err != nil {
				t.Fatal(err)
			}
			c.harm(snap)
			if _, err := TextArtifact(snap, DefaultChunk, Receipt{}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestOneTensorInTwoShardsIsRefused(t *testing.T) {
	c := newCheckpointFiles(tiny())
	c.headers[shard2], c.sizes[shard2] = c.headers[shard1], c.sizes[shard1]
	if _, err := LoadSnapshot(t.Context(), headerSource{c}, ""); !errors.Is(err, ErrHeader) {
		t.Errorf("got %v", err)
	}
}

func TestSmallFilesHaveCaps(t *testing.T) {
	for name, limit := range map[string]int{indexName: indexCap, configName: configCap, "tokenizer_config.json": 4 << 20} {
		r := newRig(t)
		data := r.source.files[name]
		r.source.files[name] = append(slices.Clone(data), bytes.Repeat([]byte(" "), limit+1-len(data))...)
		if _, err := Install(t.Context(), r.options(newMemFS())); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s of a byte too many: %v", name, err)
		}
		r.source.files[name] = r.source.files[name][:limit]
		if _, err := Install(t.Context(), r.options(newMemFS())); err != nil {
			t.Errorf("%s at its cap: %v", name, err)
		}
	}
}

func TestOptionalFilesMayBeAbsentAndNothingElse(t *testing.T) {
	for name, want := range map[string]error{
		"special_tokens_map.json": nil, "tokenizer.json": os.ErrNotExist, "tokenizer_config.json": os.ErrNotExist,
		shard2: os.ErrNotExist, configName: os.ErrNotExist, indexName: os.ErrNotExist,
	} {
		r := newRig(t)
		f := newMemFS()
		delete(r.source.files, name)
		if _, err := Install(t.Context(), r.options(f)); !errors.Is(err, want) {
			t.Errorf("without %s: %v", name, err)
		}
		if left := f.files(t, "/m"); want != nil && len(left) != 1 {
			t.Errorf("without %s this is left: %v", name, slices.Collect(maps.Keys(left)))
		}
	}
}

func TestDirectorySource(t *testing.T) {
	dir := writeFiles(t, map[string][]byte{"a": []byte("0123456789")})
	s := NewDirSource(dir)
	if _, err := s.Resolve(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if data, err := readRange(t.Context(), s, "a", 3, 4); err != nil || string(data) != "3456" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := readRange(t.Context(), s, "a", 8, 4); !errors.Is(err, ErrShortSource) {
		t.Errorf("past the end: %v", err)
	}
	for _, name := range []string{"", "..", "../a", "x/a", `x\a`} {
		if _, err := s.Size(t.Context(), name); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := NewDirSource(filepath.Join(dir, "a")).Resolve(t.Context(), ""); err == nil {
		t.Error("a file was taken for a directory")
	}
}

func TestOptionsReportEveryProblemAtOnce(t *testing.T) {
	err := (&Options{Workers: 33, Chunk: DefaultChunk + 1, Reserve: -1}).Validate()
	for _, part := range []string{"no source", "no output path", "33 ranges", "67108865 bytes", "reserve of -1"} {
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}
