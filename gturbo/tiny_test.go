package gturbo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tinyInstall is a complete install of small dimensions in memory. Tests change a part and write it out.
type tinyInstall struct {
	manifest *Manifest
	index    *Index
	layout   *Layout
	config   string
	files    map[string][]byte // path to bytes; write adds manifest, layout and index
	// raw replaces a document that write would encode: the way to break rules that Encode holds to.
	raw map[string][]byte
}

func tinyArch() Arch {
	return Arch{
		HiddenSize: 128, FFNIntermediate: 64, MoEIntermediateSize: 64, NumHeads: 4, NumKVHeads: 2, NumFullKVHeads: 1,
		HeadDim: 32, FullHeadDim: 64, VocabSize: 10, SlidingWindow: 8, FinalLogitSoftcap: 30, RopeTheta: 10000,
		FullRopeTheta: 1000000, PartialRotaryFactor: 0.25, NumLayers: 3, NumExperts: 4, TopKExperts: 2,
		TieWordEmbeddings: true, AttentionKEqV: true, HiddenActivation: "gelu_pytorch_tanh",
		FullAttentionLayerMask: []int{0, 0, 1},
	}
}

// newTiny builds an install of the architecture a: every tensor of the schema, back to back, seeded random bytes.
func newTiny(t testing.TB, a Arch) *tinyInstall {
	t.Helper()
	q := &Quant{
		Embedding: AffineSlot(4), Attention: AffineSlot(4), Router: AffineSlot(8), SharedExpert: AffineSlot(4),
		RoutedExpert: AffineSlot(4),
	}
	ti := &tinyInstall{config: tinyConfig(a), files: map[string][]byte{}, raw: map[string][]byte{}}
	index, err := PlanIndex(tinyEntries(a, q))
	if err != nil {
		t.Fatal(err)
	}
	ti.index = index
	ti.layout = tinyLayout(a)
	ti.files[WeightsFile] = noise(1, int(index.ResidentSize))
	for layer := range a.NumLayers {
		ti.files[ti.layout.LayerFile(LayerID(layer))] = noise(uint64(layer+2), a.NumExperts*int(ti.layout.ExpertStride))
	}
	ti.files["tokenizer/tokenizer.json"] = []byte(`{"model":{}}`)
	overrides := a.NumLayers
	ti.manifest = &Manifest{
		Magic: Magic, VersionMajor: VersionMajor, VersionMinor: VersionMinor, Flags: NewFlags(), ModelID: "tiny/model",
		SourceSnapshotHash: "sha256:" + SHA256([]byte("tiny")), Arch: a, Quant: q, Files: map[string]FileRecord{},
		ExpertsPerLayer: a.NumExperts, NumLayers: a.NumLayers, ExpertStride: ti.layout.ExpertStride,
		BitWidthOverridesHonored: &overrides,
	}
	return ti
}

func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func tinyEntries(a Arch, q *Quant) []Entry {
	var entries []Entry
	vector := func(name string, n int) {
		entries = append(entries, Entry{
			Name: tensorPrefix + name, DType: BF16, Shape: [4]uint32{uint32(n)}, Weights: Extent{Size: uint64(2 * n)},
		})
	}
	affine := func(name string, slot QuantSlot, rows, columns int) {
		group := Extent{Size: uint64(2 * rows * (columns / 64))}
		entries = append(entries, Entry{
			Name: tensorPrefix + name + ".weight", DType: U32, Shape: [4]uint32{uint32(rows), uint32(columns)},
			Weights: Extent{Size: uint64(rows * columns * slot.WeightBits / 8)}, Scales: group, Biases: group,
		})
	}
	affine("embed_tokens", q.Embedding, a.VocabSize, a.HiddenSize)
	for layer := range a.NumLayers {
		p := fmt.Sprintf("layers.%d.", layer)
		dh, g := a.HeadDim, a.NumKVHeads
		if a.Full(LayerID(layer)) {
			dh, g = a.FullHeadDim, a.NumFullKVHeads
		}
		affine(p+"self_attn.q_proj", q.Attention, a.NumHeads*dh, a.HiddenSize)
		affine(p+"self_attn.k_proj", q.Attention, g*dh, a.HiddenSize)
		if !a.Full(LayerID(layer)) {
			affine(p+"self_attn.v_proj", q.Attention, g*dh, a.HiddenSize)
		}
		affine(p+"self_attn.o_proj", q.Attention, a.HiddenSize, a.NumHeads*dh)
		vector(p+"self_attn.q_norm.weight", dh)
		vector(p+"self_attn.k_norm.weight", dh)
		affine(p+"router.proj", q.Router, a.NumExperts, a.HiddenSize)
		vector(p+"router.scale", a.HiddenSize)
		vector(p+"router.per_expert_scale", a.NumExperts)
		affine(p+"mlp.gate_proj", q.SharedExpert, a.FFNIntermediate, a.HiddenSize)
		affine(p+"mlp.up_proj", q.SharedExpert, a.FFNIntermediate, a.HiddenSize)
		affine(p+"mlp.down_proj", q.SharedExpert, a.HiddenSize, a.FFNIntermediate)
		for _, norm := range strings.Fields("input_layernorm post_attention_layernorm pre_feedforward_layernorm " +
			"pre_feedforward_layernorm_2 post_feedforward_layernorm post_feedforward_layernorm_1 " +
			"post_feedforward_layernorm_2") {
			vector(p+norm+".weight", a.HiddenSize)
		}
		vector(p+"layer_scalar", 1)
	}
	vector("norm.weight", a.HiddenSize)
	return entries
}

func tinyLayout(a Arch) *Layout {
	bits := 4
	tensors := map[string]SubTensor{}
	at := uint64(0)
	put := func(role, dtype string, size, rows, columns int, bits *int) {
		tensors[role] = SubTensor{
			Offset: at, Size: uint64(size), DType: dtype, Shape: []uint32{uint32(rows), uint32(columns)}, Bits: bits,
		}
		at += uint64(size)
	}
	for _, m := range []struct {
		role          string
		rows, columns int
	}{
		{"gate", a.MoEIntermediateSize, a.HiddenSize}, {"up", a.MoEIntermediateSize, a.HiddenSize},
		{"down", a.HiddenSize, a.MoEIntermediateSize},
	} {
		put(m.role, "U32", m.rows*m.columns/2, m.rows, m.columns, &bits)
		put(m.role+"_scales", "BF16", 2*m.rows*(m.columns/64), m.rows, m.columns/64, nil)
		put(m.role+"_biases", "BF16", 2*m.rows*(m.columns/64), m.rows, m.columns/64, nil)
	}
	stride, _ := AlignUp(at)
	l := &Layout{ExpertStride: stride, NumLayers: a.NumLayers, ExpertsPerLayer: a.NumExperts}
	for layer := range a.NumLayers {
		ll := LayerLayout{Layer: LayerID(layer), File: fmt.Sprintf("layer_%02d.bin", layer)}
		for e := range a.NumExperts {
			id := ExpertID(e)
			ll.Experts = append(ll.Experts, ExpertRecord{
				Expert: &id, Offset: uint64(e) * stride, Size: stride, Tensors: tensors,
			})
		}
		l.Layers = append(l.Layers, ll)
	}
	return l
}

func tinyConfig(a Arch) string {
	types := make([]string, a.NumLayers)
	for i, full := range a.FullAttentionLayerMask {
		types[i] = []string{`"sliding_attention"`, `"full_attention"`}[full]
	}
	return fmt.Sprintf(`{
  "model_type": "gemma4", "audio_config": null, "eos_token_id": [1, 5],
  "boi_token_id": 6, "image_token_id": 7, "eoi_token_id": 8, "vision_soft_tokens_per_image": 70,
  "vision_config": {"hidden_size": 64, "use_clipped_linears": false},
  "quantization": {"bits": 4, "group_size": 64, "mode": "affine",
    "language_model.model.layers.0.router.proj": {"bits": 8, "group_size": 64}},
  "text_config": {
    "model_type": "gemma4_text", "hidden_size": %d, "intermediate_size": %d, "moe_intermediate_size": %d,
    "num_attention_heads": %d, "num_key_value_heads": %d, "num_global_key_value_heads": %d, "head_dim": %d,
    "global_head_dim": %d, "vocab_size": %d, "sliding_window": %d, "final_logit_softcapping": %v,
    "num_hidden_layers": %d, "num_experts": %d, "top_k_experts": %d,
    "rope_parameters": {
      "full_attention": {"rope_type": "proportional", "rope_theta": %v, "partial_rotary_factor": %v},
      "sliding_attention": {"rope_type": "default", "rope_theta": %v}},
    "tie_word_embeddings": %t, "attention_k_eq_v": %t, "hidden_activation": %q, "layer_types": [%s],
    "rms_norm_eps": 1e-06, "max_position_embeddings": 4096, "bos_token_id": 2, "pad_token_id": 0,
    "enable_moe_block": true, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0,
    "use_double_wide_mlp": false, "attention_bias": false, "use_bidirectional_attention": "vision"
  }
}`, a.HiddenSize, a.FFNIntermediate, a.MoEIntermediateSize, a.NumHeads, a.NumKVHeads, a.NumFullKVHeads, a.HeadDim,
		a.FullHeadDim, a.VocabSize, a.SlidingWindow, a.FinalLogitSoftcap, a.NumLayers, a.NumExperts, a.TopKExperts,
		a.FullRopeTheta, a.PartialRotaryFactor, a.RopeTheta, a.TieWordEmbeddings, a.AttentionKEqV, a.HiddenActivation,
		strings.Join(types, ", "))
}

// write puts the install on disk with honest sizes and digests and a receipt, and returns its path.
func (ti *tinyInstall) write(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny.gturbo")
	files := map[string][]byte{}
	for name, data := range ti.files {
		files[name] = data
	}
	files["tokenizer/config.json"] = []byte(ti.config)
	files[WeightsFile] = append(ti.document(t, "index", ti.index.Encode), ti.files[WeightsFile]...)
	files[LayoutFile] = ti.document(t, LayoutFile, ti.layout.Encode)
	for name, data := range files {
		put(t, dir, name, data)
		if _, listed := ti.manifest.Files[name]; !listed {
			ti.manifest.Files[name] = FileRecord{Size: uint64(len(data)), SHA256: SHA256(data)}
		}
	}
	manifest := ti.document(t, ManifestFile, ti.manifest.Encode)
	put(t, dir, ManifestFile, manifest)
	receipt, err := NewReceipt(ti.manifest, manifest, dir, "test", time.Unix(1700000000, 0)).Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, ReceiptFile, receipt)
	return dir
}

func (ti *tinyInstall) document(t testing.TB, name string, encode func() ([]byte, error)) []byte {
	t.Helper()
	if data, ok := ti.raw[name]; ok {
		return data
	}
	data, err := encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// put writes one file of an install, its directories included.
func put(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
