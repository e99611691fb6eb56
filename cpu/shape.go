package cpu

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
)

// A shapeCheck collects what is wrong with the dimensions of a model.
type shapeCheck struct{ problems []error }

func (s *shapeCheck) want(ok bool, format string, args ...any) {
	if !ok {
		s.problems = append(s.problems, fmt.Errorf("%w: %s", ErrShape, fmt.Sprintf(format, args...)))
	}
}

// affine wants w to be a 4-bit or 8-bit matrix [out, in] with as many bytes as that takes.
func (s *shapeCheck) affine(name string, w core.Affine, out, in int) {
	s.want(w.Out == out && w.In == in, "%s is [%d, %d], want [%d, %d]", name, w.Out, w.In, out, in)
	s.want(w.Bits == 4 || w.Bits == 8, "%s has %d bits, want 4 or 8", name, w.Bits)
	s.want(w.In > 0 && w.In%groupSize == 0, "%s has %d inputs, want a multiple of %d", name, w.In, groupSize)
	groups := 2 * w.Out * w.In / groupSize
	s.want(len(w.Codes) == w.Out*w.In*w.Bits/8 && len(w.Scales) == groups && len(w.Biases) == groups,
		"%s has %d, %d and %d bytes of codes, scales and biases, want %d, %d and %d", name,
		len(w.Codes), len(w.Scales), len(w.Biases), w.Out*w.In*w.Bits/8, groups, groups)
}

func (s *shapeCheck) vector(name string, v core.Vector, n int) {
	s.want(len(v) == 2*n, "%s has %d bytes, want %d bf16 values", name, len(v), n)
}

// checkWeights reports every matrix and vector of w that this backend cannot compute with.
func checkWeights(w *core.Weights) error {
	var s shapeCheck
	c := &w.Config
	s.want(c.Hidden > 0 && c.Vocab > 0 && c.Heads > 0 && c.Experts > 0 && c.Window > 0,
		"hidden %d, vocabulary %d, heads %d, experts %d, window %d: want all positive",
		c.Hidden, c.Vocab, c.Heads, c.Experts, c.Window)
	s.want(c.TopK >= 1 && c.TopK <= c.Experts, "%d experts per token of %d", c.TopK, c.Experts)
	s.want(len(w.Layers) == len(c.Layers) && len(c.Layers) > 0, "weights of %d layers, configuration of %d",
		len(w.Layers), len(c.Layers))
	if len(s.problems) > 0 {
		return joinProblems("cpu: model", s.problems)
	}
	s.affine("embed_tokens", w.Embed, c.Vocab, c.Hidden)
	s.vector("norm", w.Norm, c.Hidden)
	for i := range w.Layers {
		s.layer(i, &w.Layers[i], c)
	}
	s.expert(w.Expert, c)
	return joinProblems("cpu: model", s.problems)
}

func (s *shapeCheck) layer(i int, l *core.LayerWeights, c *core.Config) {
	lc, d := c.Layers[i], c.Hidden
	name := func(part string) string { return fmt.Sprintf("layer %d: %s", i, part) }
	s.want(lc.HeadDim >= 8 && lc.HeadDim <= maxHeadDim && lc.HeadDim%8 == 0,
		"layer %d: heads of %d, want a multiple of 8 up to %d", i, lc.HeadDim, maxHeadDim)
	s.want(lc.KVHeads > 0 && c.Heads%lc.KVHeads == 0, "layer %d: %d heads over %d KV heads", i, c.Heads, lc.KVHeads)
	s.want(!lc.Full || c.FullRotary <= lc.HeadDim/2, "layer %d: %d rotating pairs in heads of %d",
		i, c.FullRotary, lc.HeadDim)
	s.affine(name("q_proj"), l.Query, c.Heads*lc.HeadDim, d)
	s.affine(name("k_proj"), l.Key, lc.KVHeads*lc.HeadDim, d)
	if !lc.ValueFromKey {
		s.affine(name("v_proj"), l.Value, lc.KVHeads*lc.HeadDim, d)
	}
	s.want(l.Key.Bits == l.Query.Bits && (lc.ValueFromKey || l.Value.Bits == l.Query.Bits) && l.Up.Bits == l.Gate.Bits,
		"layer %d: matrices of one input differ in bits", i) // they share the packed row
	s.affine(name("o_proj"), l.Output, d, c.Heads*lc.HeadDim)
	s.vector(name("q_norm"), l.QueryNorm, lc.HeadDim)
	s.vector(name("k_norm"), l.KeyNorm, lc.HeadDim)
	s.affine(name("router.proj"), l.Router, c.Experts, d)
	s.vector(name("router.scale"), l.RouterScale, d)
	s.vector(name("router.per_expert_scale"), l.PerExpertScale, c.Experts)
	s.affine(name("gate_proj"), l.Gate, c.SharedWidth, d)
	s.affine(name("up_proj"), l.Up, c.SharedWidth, d)
	s.affine(name("down_proj"), l.Down, d, c.SharedWidth)
	for _, v := range []struct {
		name string
		norm core.Vector
	}{
		{"input_layernorm", l.InputNorm}, {"post_attention_layernorm", l.PostAttentionNorm},
		{"pre_feedforward_layernorm", l.PreSharedNorm}, {"pre_feedforward_layernorm_2", l.PreRoutedNorm},
		{"post_feedforward_layernorm_1", l.PostSharedNorm}, {"post_feedforward_layernorm_2", l.PostRoutedNorm},
		{"post_feedforward_layernorm", l.PostFFNNorm},
	} {
		s.vector(name(v.name), v.norm, d)
	}
}

func (s *shapeCheck) expert(e core.ExpertLayout, c *core.Config) {
	s.want(e.Gate.Bits == e.Up.Bits, "expert gate_proj has %d bits, up_proj %d", e.Gate.Bits, e.Up.Bits)
	for _, part := range []struct {
		name    string
		at      core.AffineRange
		out, in int
	}{
		{"gate_proj", e.Gate, c.ExpertWidth, c.Hidden},
		{"up_proj", e.Up, c.ExpertWidth, c.Hidden},
		{"down_proj", e.Down, c.Hidden, c.ExpertWidth},
	} {
		r := part.at
		s.want(r.Out == part.out && r.In == part.in && r.In%groupSize == 0 && (r.Bits == 4 || r.Bits == 8),
			"expert %s is [%d, %d] of %d bits, want [%d, %d] of 4 or 8", part.name, r.Out, r.In, r.Bits, part.out, part.in)
		groups := 2 * r.Out * r.In / groupSize
		s.want(r.Codes+r.Out*r.In*r.Bits/8 <= e.Stride && r.Scales+groups <= e.Stride && r.Biases+groups <= e.Stride,
			"expert %s ends behind its blob of %d bytes", part.name, e.Stride)
	}
}
