package metal

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/shaders"
)

// A layerPlan holds what the dispatches of one layer always say: parameter blocks without the numbers of the chunk.
type layerPlan struct {
	config core.LayerConfig
	bits   struct{ qkv, output, router, up, down int }

	inputNorm, postAttentionNorm, preSharedNorm shaders.NormParams

	qkv, output, router, down shaders.AffineParams
	heads                     shaders.HeadsParams
	attend                    shaders.AttendParams
	routerInput               shaders.RouterInputParams
	choose                    shaders.ChooseParams
	up                        shaders.GegluParams
	tail                      shaders.TailParams

	// Labels of command buffers by the stage that opens them, made once: devices keep them.
	label struct{ attend, shared, routed, tail string }
}

// planLayer checks one layer's tensors and lays out its parameters.
func planLayer(s *shapeCheck, w *core.Weights, i int) layerPlan {
	c, l, lc := &w.Config, &w.Layers[i], w.Config.Layers[i]
	name := func(part string) string { return fmt.Sprintf("layer %d: %s", i, part) }
	norm := func(part string, v core.Vector) shaders.NormParams {
		return shaders.NormParams{Width: u32(c.Hidden), Eps: c.RMSNormEps, Weight: s.vector(name(part), v, c.Hidden), Weighted: 1}
	}
	p := layerPlan{
		config:            lc,
		inputNorm:         norm("input_layernorm", l.InputNorm),
		postAttentionNorm: norm("post_attention_layernorm", l.PostAttentionNorm),
		preSharedNorm:     norm("pre_feedforward_layernorm", l.PreSharedNorm),
	}
	p.label.attend = fmt.Sprintf("layer %d: attend and route", i)
	p.label.shared = fmt.Sprintf("layer %d: shared", i)
	p.label.routed = fmt.Sprintf("layer %d: routed", i)
	p.label.tail = fmt.Sprintf("layer %d: tail", i)
	if i+1 < len(w.Layers) {
		p.label.tail += fmt.Sprintf(", layer %d: attend and route", i+1)
	}
	p.planAttention(s, w, i, name)

	p.routerInput = shaders.RouterInputParams{
		Width: u32(c.Hidden), Eps: c.RMSNormEps,
		Scale:  s.vector(name("router.scale"), l.RouterScale, c.Hidden),
		Weight: s.vector(name("pre_feedforward_layernorm_2"), l.PreRoutedNorm, c.Hidden),
		Factor: float32(1 / math.Sqrt(float64(c.Hidden))),
	}
	p.bits.router = l.Router.Bits
	p.router = single(s.affine(name("router.proj"), l.Router, c.Experts, c.Hidden), c.Experts, c.Hidden)
	p.choose = shaders.ChooseParams{
		Experts: u32(c.Experts), TopK: u32(c.TopK),
		PerExpert: s.vector(name("router.per_expert_scale"), l.PerExpertScale, c.Experts),
	}
	p.bits.up, p.bits.down = l.Gate.Bits, l.Down.Bits
	s.want(l.Gate.Bits == l.Up.Bits, "%s has %d bits, up_proj %d", name("gate_proj"), l.Gate.Bits, l.Up.Bits)
	p.up = shaders.GegluParams{
		Gate:   s.affine(name("gate_proj"), l.Gate, c.SharedWidth, c.Hidden),
		Up:     s.affine(name("up_proj"), l.Up, c.SharedWidth, c.Hidden),
		Inputs: u32(c.Hidden), Outputs: u32(c.SharedWidth),
	}
	p.down = single(s.affine(name("down_proj"), l.Down, c.Hidden, c.SharedWidth), c.Hidden, c.SharedWidth)
	p.tail = shaders.TailParams{
		Width: u32(c.Hidden), TopK: u32(c.TopK), Eps: c.RMSNormEps, Scalar: l.Scalar,
		PostShared: s.vector(name("post_feedforward_layernorm_1"), l.PostSharedNorm, c.Hidden),
		PostRouted: s.vector(name("post_feedforward_layernorm_2"), l.PostRoutedNorm, c.Hidden),
		PostFFN:    s.vector(name("post_feedforward_layernorm"), l.PostFFNNorm, c.Hidden),
	}
	return p
}

// planAttention lays out a row of queries, keys and values: one product, H heads, G and, unless values are made from
// the raw keys, G again.
func (p *layerPlan) planAttention(s *shapeCheck, w *core.Weights, i int, name func(string) string) {
	c, l, lc := &w.Config, &w.Layers[i], w.Config.Layers[i]
	query, kv := c.Heads*lc.HeadDim, lc.KVHeads*lc.HeadDim
	p.bits.qkv, p.bits.output = l.Query.Bits, l.Output.Bits
	s.want(l.Key.Bits == l.Query.Bits && (lc.ValueFromKey || l.Value.Bits == l.Query.Bits),
		"layer %d: q_proj, k_proj and v_proj differ in bits", i)
	p.qkv = single(s.affine(name("q_proj"), l.Query, query, c.Hidden), query, c.Hidden)
	p.qkv.Matrix[1] = s.affine(name("k_proj"), l.Key, kv, c.Hidden)
	stride, valueAt := query+kv, query
	p.qkv.Ends[1], p.qkv.Ends[2] = u32(stride), u32(stride)
	if !lc.ValueFromKey {
		p.qkv.Matrix[2] = s.affine(name("v_proj"), l.Value, kv, c.Hidden)
		stride, valueAt = stride+kv, stride
		p.qkv.Ends[2] = u32(stride)
	}
	p.qkv.Outputs, p.qkv.YStride = u32(stride), u32(stride)
	p.output = single(s.affine(name("o_proj"), l.Output, c.Hidden, query), c.Hidden, query)
	p.output.XStride = u32(stride)

	pairs, window := lc.HeadDim/2, c.Window
	if lc.Full {
		pairs, window = c.FullRotary, 0
	}
	p.heads = shaders.HeadsParams{
		Heads: u32(c.Heads), KVHeads: u32(lc.KVHeads), Width: u32(lc.HeadDim), Pairs: u32(pairs),
		Stride: u32(stride), KeyAt: u32(query), ValueAt: u32(valueAt), Eps: c.RMSNormEps,
		QueryNorm: s.vector(name("q_norm"), l.QueryNorm, lc.HeadDim),
		KeyNorm:   s.vector(name("k_norm"), l.KeyNorm, lc.HeadDim),
	}
	p.attend = shaders.AttendParams{
		KVHeads: u32(lc.KVHeads), Group: u32(c.Heads / max(1, lc.KVHeads)), Stride: u32(stride), Window: u32(window),
	}
}

// single is the product with one matrix, rows dense.
func single(m shaders.Matrix, outputs, inputs int) shaders.AffineParams {
	return shaders.AffineParams{
		Matrix: [3]shaders.Matrix{m}, Ends: [3]uint32{u32(outputs), u32(outputs), u32(outputs)},
		Inputs: u32(inputs), Outputs: u32(outputs), XStride: u32(inputs), YStride: u32(outputs),
	}
}

func u32(n int) uint32 { return uint32(n) }
