package synth

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// gguf plans the file: names and metadata as llama.cpp's loader of gemma4 wants them.
func (m *model) gguf(opts *GGUFOptions) (*gguf, error) {
	a := &m.Arch
	for _, in := range []int{a.HiddenSize, a.FFNIntermediate, a.MoEIntermediateSize} {
		if in%32 != 0 || !opts.Pure && a.HiddenSize%256 != 0 {
			return nil, fmt.Errorf("hidden width %d, experts of %d and %d: rows are no whole blocks of 32, or of 256 in "+
				"the token table: %w", a.HiddenSize, a.MoEIntermediateSize, a.FFNIntermediate, ErrConfig)
		}
	}
	meta := &ggufMeta{}
	m.ggufArchitecture(meta)
	if err := m.ggufTokenizer(meta, opts); err != nil {
		return nil, err
	}
	v := &ggufInventory{}
	if opts.Pure {
		v.q4("token_embd.weight", a.HiddenSize, a.VocabSize)
	} else {
		v.add("token_embd.weight", ggufQ6_K, q6Blocks("token_embd.weight", a.HiddenSize), a.HiddenSize, a.VocabSize)
	}
	v.plain("output_norm.weight", "language_model.model.norm.weight", a.HiddenSize)
	rotating := int(math.Round(float64(a.FullHeadDim/2) * a.PartialRotaryFactor))
	v.add("rope_freqs.weight", ggufF32, rotations(rotating), a.FullHeadDim/2)
	for i := range a.NumLayers {
		m.ggufLayer(v, i)
	}
	return newGGUF(meta, v.tensors), nil
}

type ggufInventory struct{ tensors []ggufTensor }

func (v *ggufInventory) add(name string, kind ggufKind, f fill, shape ...int) {
	v.tensors = append(v.tensors, ggufTensor{name: name, kind: kind, shape: wide(shape), fill: f})
}

func (v *ggufInventory) q4(name string, shape ...int) {
	v.add(name, ggufQ4_0, q4Blocks(name, shape[0]), shape...)
}

// plain adds the checkpoint's tensor of the name from.
func (v *ggufInventory) plain(name, from string, n int) {
	v.add(name, ggufF32, widened(plain(from, []int64{int64(n)})), n)
}

func (m *model) ggufLayer(v *ggufInventory, i int) {
	a := &m.Arch
	d, head, kv := a.HiddenSize, a.HeadDim, a.NumKVHeads
	full := a.FullAttentionLayerMask[i] == 1
	if full {
		head, kv = a.FullHeadDim, a.NumFullKVHeads
	}
	to, from := fmt.Sprintf("blk.%d.", i), fmt.Sprintf("language_model.model.layers.%d.", i)
	for _, t := range []struct {
		to, from string
		n        int
	}{
		{"attn_norm.weight", "input_layernorm.weight", d},
		{"attn_q_norm.weight", "self_attn.q_norm.weight", head},
		{"attn_k_norm.weight", "self_attn.k_norm.weight", head},
		{"post_attention_norm.weight", "post_attention_layernorm.weight", d},
		{"ffn_norm.weight", "pre_feedforward_layernorm.weight", d},
		{"pre_ffw_norm_2.weight", "pre_feedforward_layernorm_2.weight", d},
		{"post_ffw_norm.weight", "post_feedforward_layernorm.weight", d},
		{"post_ffw_norm_1.weight", "post_feedforward_layernorm_1.weight", d},
		{"post_ffw_norm_2.weight", "post_feedforward_layernorm_2.weight", d},
		{"ffn_gate_inp.scale", "router.scale", d},
		{"ffn_down_exps.scale", "router.per_expert_scale", a.NumExperts},
		{"layer_output_scale.weight", "layer_scalar", 1},
	} {
		v.plain(to+t.to, from+t.from, t.n)
	}
	v.q4(to+"attn_q.weight", d, a.NumHeads*head)
	v.q4(to+"attn_k.weight", d, kv*head)
	if !full {
		v.q4(to+"attn_v.weight", d, kv*head)
	}
	v.q4(to+"attn_output.weight", a.NumHeads*head, d)
	router := to + "ffn_gate_inp.weight"
	v.add(router, ggufF32, routerRows(router, d), d, a.NumExperts)
	v.q4(to+"ffn_gate.weight", d, a.FFNIntermediate)
	v.q4(to+"ffn_up.weight", d, a.FFNIntermediate)
	v.q4(to+"ffn_down.weight", a.FFNIntermediate, d)
	v.q4(to+"ffn_gate_up_exps.weight", d, 2*a.MoEIntermediateSize, a.NumExperts)
	v.q4(to+"ffn_down_exps.weight", a.MoEIntermediateSize, d, a.NumExperts)
}

func (m *model) ggufArchitecture(meta *ggufMeta) {
	const mostlyQ4_0 = 2
	a := &m.Arch
	meta.text("general.architecture", "gemma4")
	meta.text("general.type", "model")
	meta.text("general.name", "fieldfare synthetic")
	meta.count("general.file_type", mostlyQ4_0)
	meta.count("general.quantization_version", 2)
	for _, c := range []struct {
		key   string
		value int
	}{
		{"block_count", a.NumLayers}, {"context_length", m.MaxPositionEmbeddings}, {"embedding_length", a.HiddenSize},
		{"embedding_length_per_layer_input", 0}, {"feed_forward_length", a.FFNIntermediate},
		{"expert_count", a.NumExperts}, {"expert_used_count", a.TopKExperts},
		{"expert_feed_forward_length", a.MoEIntermediateSize}, {"attention.head_count", a.NumHeads},
		{"attention.key_length", a.FullHeadDim}, {"attention.value_length", a.FullHeadDim},
		{"attention.key_length_swa", a.HeadDim}, {"attention.value_length_swa", a.HeadDim},
		{"attention.sliding_window", a.SlidingWindow}, {"attention.shared_kv_layers", 0},
		{"rope.dimension_count", a.FullHeadDim}, {"rope.dimension_count_swa", a.HeadDim},
	} {
		meta.count("gemma4."+c.key, c.value)
	}
	meta.float("gemma4.attention.layer_norm_rms_epsilon", m.RMSNormEps)
	meta.float("gemma4.final_logit_softcapping", a.FinalLogitSoftcap)
	meta.float("gemma4.rope.freq_base", a.FullRopeTheta)
	meta.float("gemma4.rope.freq_base_swa", a.RopeTheta)
	heads, sliding := make([]int32, a.NumLayers), make([]bool, a.NumLayers)
	for i := range heads {
		sliding[i] = a.FullAttentionLayerMask[i] == 0
		heads[i] = int32(a.NumFullKVHeads)
		if sliding[i] {
			heads[i] = int32(a.NumKVHeads)
		}
	}
	meta.integers("gemma4.attention.head_count_kv", heads)
	meta.flags("gemma4.attention.sliding_window_pattern", sliding)
}

// Types of tokens.
const (
	ggufNormal  = 1
	ggufControl = 3
	ggufUnused  = 5
	ggufByte    = 6
)

// ggufTokenizer writes the padded tokenizer: the same ids for the same text as in the synthetic install.
func (m *model) ggufTokenizer(meta *ggufMeta, opts *GGUFOptions) error {
	small, err := m.tokenizer(opts.Tokenizer)
	if err != nil {
		return err
	}
	var file struct {
		Added []struct {
			ID int `json:"id"`
		} `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int `json:"vocab"`
			Merges [][2]string    `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(small["tokenizer.json"], &file); err != nil {
		return fmt.Errorf("tokenizer.json: %w: %w", ErrTokenizer, err)
	}
	tokens, kinds := make([]string, m.Arch.VocabSize), make([]int32, m.Arch.VocabSize)
	for token, id := range file.Model.Vocab {
		tokens[id], kinds[id] = token, ggufNormal
		switch {
		case strings.HasPrefix(token, "<0x"):
			kinds[id] = ggufByte
		case strings.HasPrefix(token, "<unused"):
			kinds[id] = ggufUnused
		}
	}
	for _, added := range file.Added {
		if added.ID < 0 || added.ID >= len(kinds) {
			return fmt.Errorf("added token %d: the vocabulary ends at %d: %w", added.ID, len(kinds), ErrTokenizer)
		}
		if kinds[added.ID] == ggufNormal {
			kinds[added.ID] = ggufControl
		}
	}
	merges := make([]string, len(file.Model.Merges))
	for i, pair := range file.Model.Merges {
		merges[i] = pair[0] + " " + pair[1]
	}
	meta.text("tokenizer.ggml.model", "gemma4")
	meta.texts("tokenizer.ggml.tokens", tokens)
	meta.integers("tokenizer.ggml.token_type", kinds)
	meta.texts("tokenizer.ggml.merges", merges)
	meta.count("tokenizer.ggml.bos_token_id", int(m.BOS))
	meta.count("tokenizer.ggml.eos_token_id", int(m.EOS[0]))
	meta.count("tokenizer.ggml.padding_token_id", int(m.Pad))
	meta.count("tokenizer.ggml.unknown_token_id", file.Model.Vocab["<unk>"])
	meta.flag("tokenizer.ggml.add_bos_token", true)
	meta.flag("tokenizer.ggml.add_space_prefix", false)
	return nil
}
