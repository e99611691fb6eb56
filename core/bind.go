package core

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/bf16"
)

// BindWeights makes the model's configuration and views of its tensors from an open install. No tensor is copied:
// the views are valid until in is closed. in has checked names, shapes, types and alignment.
func BindWeights(in *gturbo.Install) (*Weights, error) {
	cfg := newConfig(in.Source())
	b := binder{in: in}
	w := &Weights{
		Config: cfg,
		Region: in.Region(),
		Embed:  b.affine("embed_tokens"),
		Norm:   b.vector("norm.weight"),
		Expert: expertLayout(in.Experts()),
	}
	for l, lc := range cfg.Layers {
		b.prefix = fmt.Sprintf("layers.%d.", l)
		w.Layers = append(w.Layers, b.layer(lc))
	}
	if b.err != nil {
		return nil, fmt.Errorf("bind weights: %w", b.err)
	}
	return w, nil
}

// newConfig puts the checkpoint's configuration, which the install has found equal to its manifest, in our terms.
func newConfig(src *gturbo.SourceConfig) Config {
	a := &src.Arch
	cfg := Config{
		Hidden: a.HiddenSize, Heads: a.NumHeads, Window: a.SlidingWindow,
		SharedWidth: a.FFNIntermediate, ExpertWidth: a.MoEIntermediateSize,
		Experts: a.NumExperts, TopK: a.TopKExperts, Vocab: a.VocabSize,
		RMSNormEps: float32(src.RMSNormEps), LogitSoftcap: float32(a.FinalLogitSoftcap),
		EmbedScale:   bf16.Float32(bf16.Bits(float32(math.Sqrt(float64(a.HiddenSize))))),
		MaxPositions: src.MaxPositionEmbeddings,
		RopeTheta:    a.RopeTheta, FullRopeTheta: a.FullRopeTheta,
		FullRotary: int(a.PartialRotaryFactor * float64(a.FullHeadDim) / 2),
		EOS:        src.EOS,
	}
	for l := range a.NumLayers {
		lc := LayerConfig{KVHeads: a.NumKVHeads, HeadDim: a.HeadDim}
		if a.Full(gturbo.LayerID(l)) {
			lc = LayerConfig{Full: true, KVHeads: a.NumFullKVHeads, HeadDim: a.FullHeadDim, ValueFromKey: a.AttentionKEqV}
		}
		cfg.Layers = append(cfg.Layers, lc)
	}
	return cfg
}

// A binder looks tensors up and keeps the first error.
type binder struct {
	in     *gturbo.Install
	prefix string
	err    error
}

func (b *binder) layer(lc LayerConfig) LayerWeights {
	w := LayerWeights{
		Query: b.affine("self_attn.q_proj"), Key: b.affine("self_attn.k_proj"), Output: b.affine("self_attn.o_proj"),
		QueryNorm: b.vector("self_attn.q_norm.weight"), KeyNorm: b.vector("self_attn.k_norm.weight"),
		Router: b.affine("router.proj"), RouterScale: b.vector("router.scale"),
		PerExpertScale: b.vector("router.per_expert_scale"),
		Gate:           b.affine("mlp.gate_proj"), Up: b.affine("mlp.up_proj"), Down: b.affine("mlp.down_proj"),
		InputNorm:         b.vector("input_layernorm.weight"),
		PostAttentionNorm: b.vector("post_attention_layernorm.weight"),
		PreSharedNorm:     b.vector("pre_feedforward_layernorm.weight"),
		PreRoutedNorm:     b.vector("pre_feedforward_layernorm_2.weight"),
		PostSharedNorm:    b.vector("post_feedforward_layernorm_1.weight"),
		PostRoutedNorm:    b.vector("post_feedforward_layernorm_2.weight"),
		PostFFNNorm:       b.vector("post_feedforward_layernorm.weight"),
	}
	if !lc.ValueFromKey {
		w.Value = b.affine("self_attn.v_proj")
	}
	if scalar := b.vector("layer_scalar"); len(scalar) == 2 {
		w.Scalar = bf16.Float32(binary.LittleEndian.Uint16(scalar))
	}
	return w
}

func (b *binder) tensor(name string) gturbo.Tensor {
	t, err := b.in.Tensor("language_model.model." + b.prefix + name)
	if err != nil && b.err == nil {
		b.err = err
	}
	return t
}

func (b *binder) vector(name string) Vector { return Vector(b.tensor(name).Data) }

func (b *binder) affine(name string) Affine {
	t := b.tensor(name + ".weight")
	if len(t.Shape) != 2 {
		return Affine{} // b.err says why
	}
	return Affine{Codes: t.Data, Scales: t.Scales, Biases: t.Biases, Out: t.Shape[0], In: t.Shape[1], Bits: t.Bits}
}

func expertLayout(l gturbo.ExpertLayout) ExpertLayout {
	r := func(m gturbo.AffineRange) AffineRange {
		return AffineRange{
			Codes: m.Codes, Scales: m.Scales, Biases: m.Biases, Out: m.Rows, In: m.Columns, Bits: m.Bits,
		}
	}
	return ExpertLayout{Stride: l.Stride, Gate: r(l.Gate), Up: r(l.Up), Down: r(l.Down)}
}
