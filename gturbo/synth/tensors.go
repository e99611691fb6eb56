package synth

import (
	"fmt"
	"slices"

	"github.com/fieldfare/fieldfare/gturbo/install"
)

// A tensor is one entry of the checkpoint with the formula of its elements.
type tensor struct {
	name  string
	dtype install.DType
	shape []int64
	fill  fill
}

func (t *tensor) size() int64 {
	n := t.dtype.Bytes()
	for _, d := range t.shape {
		n *= d
	}
	return n
}

type inventory []tensor

func (v *inventory) plain(name string, shape ...int) {
	s := wide(shape)
	*v = append(*v, tensor{name, install.BF16, s, plain(name, s)})
}

// quantized adds the three tensors of a module of shape [.., out, in].
func (v *inventory) quantized(m module, shape ...int) {
	m.in = shape[len(shape)-1]
	last := func(n int) []int64 {
		s := wide(shape)
		s[len(s)-1] = int64(n)
		return s
	}
	*v = append(*v,
		tensor{m.name + ".weight", install.U32, last(m.in * m.bits / 32), codes(m.name + ".weight")},
		tensor{m.name + ".scales", install.BF16, last(m.in / 64), m.scales()},
		tensor{m.name + ".biases", install.BF16, last(m.in / 64), m.biases()})
}

func wide(shape []int) []int64 {
	s := make([]int64, len(shape))
	for i, d := range shape {
		s[i] = int64(d)
	}
	return s
}

// tensors lists the checkpoint's tensors, sorted by name as MLX's converter writes them.
func (m *model) tensors() []tensor {
	var v inventory
	v.quantized(module{name: "language_model.model.embed_tokens", bits: 4}, m.Arch.VocabSize, m.Arch.HiddenSize)
	v.plain("language_model.model.norm.weight", m.Arch.HiddenSize)
	for i := range m.Arch.NumLayers {
		m.textLayer(&v, i)
	}
	if m.tower != nil {
		m.vision(&v)
	}
	slices.SortFunc(v, func(a, b tensor) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return v
}

func (m *model) textLayer(v *inventory, i int) {
	a := &m.Arch
	d, head, kv := a.HiddenSize, a.HeadDim, a.NumKVHeads
	full := a.FullAttentionLayerMask[i] == 1
	if full {
		head, kv = a.FullHeadDim, a.NumFullKVHeads
	}
	p := fmt.Sprintf("language_model.model.layers.%d.", i)
	affine := func(name string, shape ...int) { v.quantized(module{name: p + name, bits: 4}, shape...) }
	for _, norm := range []string{
		"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "pre_feedforward_layernorm_2",
		"post_feedforward_layernorm", "post_feedforward_layernorm_1", "post_feedforward_layernorm_2",
	} {
		v.plain(p+norm+".weight", d)
	}
	v.plain(p+"self_attn.q_norm.weight", head)
	v.plain(p+"self_attn.k_norm.weight", head)
	affine("self_attn.q_proj", a.NumHeads*head, d)
	affine("self_attn.k_proj", kv*head, d)
	if !full {
		affine("self_attn.v_proj", kv*head, d)
	}
	affine("self_attn.o_proj", d, a.NumHeads*head)

	v.quantized(module{name: p + "router.proj", bits: 8, uneven: true}, a.NumExperts, d)
	v.plain(p+"router.scale", d)
	v.plain(p+"router.per_expert_scale", a.NumExperts)
	affine("mlp.gate_proj", a.FFNIntermediate, d)
	affine("mlp.up_proj", a.FFNIntermediate, d)
	affine("mlp.down_proj", d, a.FFNIntermediate)
	affine("experts.switch_glu.gate_proj", a.NumExperts, a.MoEIntermediateSize, d)
	affine("experts.switch_glu.up_proj", a.NumExperts, a.MoEIntermediateSize, d)
	affine("experts.switch_glu.down_proj", a.NumExperts, d, a.MoEIntermediateSize)
	v.plain(p+"layer_scalar", 1)
}

func (m *model) vision(v *inventory) {
	w := m.tower
	d := w.HiddenSize
	const p = "vision_tower."
	v.plain(p+"patch_embedder.input_proj.weight", d, 3*w.PatchSize*w.PatchSize)
	v.plain(p+"patch_embedder.position_embedding_table", 2, w.PositionEmbeddingSize, d)
	for i := range w.NumHiddenLayers {
		q := fmt.Sprintf("%sencoder.layers.%d.", p, i)
		for _, norm := range []string{
			"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm",
		} {
			v.plain(q+norm+".weight", d)
		}
		v.plain(q+"self_attn.q_norm.weight", w.HeadDim)
		v.plain(q+"self_attn.k_norm.weight", w.HeadDim)
		width := w.NumAttentionHeads * w.HeadDim
		for _, name := range []string{"q_proj", "k_proj", "v_proj"} {
			v.plain(q+"self_attn."+name+".linear.weight", width, d)
		}
		v.plain(q+"self_attn.o_proj.linear.weight", d, width)
		v.plain(q+"mlp.gate_proj.linear.weight", w.IntermediateSize, d)
		v.plain(q+"mlp.up_proj.linear.weight", w.IntermediateSize, d)
		v.plain(q+"mlp.down_proj.linear.weight", d, w.IntermediateSize)
	}
	v.plain(p+"std_bias", d)
	v.plain(p+"std_scale", d)
	v.quantized(module{name: "embed_vision.embedding_projection", bits: 4}, m.Arch.HiddenSize, d)
}
