package gturbo

import (
	"fmt"
	"slices"
)

// tensorPrefix begins the names of all text tensors.
const tensorPrefix = "language_model.model."

// schema checks that an install holds every tensor that the runtime reads, in the form that it reads. Extra tensors
// are nobody's business: a full layer may carry a v_proj.
type schema struct {
	arch    *Arch
	quant   *Quant
	entries map[string]*Entry
}

func (s *schema) check() error {
	a := s.arch
	if a.NumHeads%a.NumKVHeads != 0 || a.NumHeads%a.NumFullKVHeads != 0 {
		return fmt.Errorf("%d query heads, %d and %d KV heads: %w",
			a.NumHeads, a.NumKVHeads, a.NumFullKVHeads, ErrDimensions)
	}
	c := collector{schema: s}
	c.affine("embed_tokens.weight", s.quant.Embedding, a.VocabSize, a.HiddenSize)
	c.vector("norm.weight", a.HiddenSize)
	for layer := range a.NumLayers {
		if c.layer(LayerID(layer)); c.err != nil {
			break
		}
	}
	return c.err
}

// collector keeps the first error, so that a layer's tensors read as a list.
type collector struct {
	*schema
	prefix string
	err    error
}

func (c *collector) layer(layer LayerID) {
	a := c.arch
	headDim, kvHeads := a.HeadDim, a.NumKVHeads
	if a.Full(layer) {
		headDim, kvHeads = a.FullHeadDim, a.NumFullKVHeads
	}
	q, kv := c.product(a.NumHeads, headDim), c.product(kvHeads, headDim)
	c.prefix = fmt.Sprintf("layers.%d.", layer)
	for _, norm := range []string{
		"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "pre_feedforward_layernorm_2",
		"post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "post_feedforward_layernorm",
	} {
		c.vector(norm+".weight", a.HiddenSize)
	}
	c.vector("router.scale", a.HiddenSize)
	c.vector("router.per_expert_scale", a.NumExperts)
	c.vector("layer_scalar", 1)
	c.vector("self_attn.q_norm.weight", headDim)
	c.vector("self_attn.k_norm.weight", headDim)
	c.affine("self_attn.q_proj.weight", c.quant.Attention, q, a.HiddenSize)
	c.affine("self_attn.k_proj.weight", c.quant.Attention, kv, a.HiddenSize)
	if !a.Full(layer) {
		c.affine("self_attn.v_proj.weight", c.quant.Attention, kv, a.HiddenSize)
	}
	c.affine("self_attn.o_proj.weight", c.quant.Attention, a.HiddenSize, q)
	c.affine("mlp.gate_proj.weight", c.quant.SharedExpert, a.FFNIntermediate, a.HiddenSize)
	c.affine("mlp.up_proj.weight", c.quant.SharedExpert, a.FFNIntermediate, a.HiddenSize)
	c.affine("mlp.down_proj.weight", c.quant.SharedExpert, a.HiddenSize, a.FFNIntermediate)
	c.affine("router.proj.weight", c.quant.Router, a.NumExperts, a.HiddenSize)
}

func (c *collector) product(a, b int) int {
	n, ok := mul(uint64(a), uint64(b))
	if (!ok || int(n) < 0 || uint64(int(n)) != n) && c.err == nil {
		c.err = fmt.Errorf("%d times %d: %w", a, b, ErrDimensionLimit)
	}
	return int(n)
}

func (c *collector) vector(name string, n int) {
	c.tensor(name, func(e *Entry) error { return e.checkVector(n) })
}

func (c *collector) affine(name string, slot QuantSlot, rows, columns int) {
	c.tensor(name, func(e *Entry) error { return e.checkAffine(slot.WeightBits, rows, columns) })
}

func (c *collector) tensor(name string, check func(*Entry) error) {
	if c.err != nil {
		return
	}
	name = tensorPrefix + c.prefix + name
	e, ok := c.entries[name]
	if !ok {
		c.err = fmt.Errorf("%s: %s: %w", WeightsFile, name, ErrTensorMissing)
		return
	}
	if err := check(e); err != nil {
		c.err = fmt.Errorf("%s: %s: %w", WeightsFile, name, err)
	}
}

func (e *Entry) checkVector(n int) error {
	if e.DType != BF16 {
		return fmt.Errorf("dtype %s, want BF16: %w", e.DType, ErrTensorDType)
	}
	if err := e.checkShape(n, 0); err != nil {
		return err
	}
	size, ok := mul(uint64(n), 2)
	if !ok {
		return fmt.Errorf("%d elements: %w", n, ErrDimensionLimit)
	}
	if e.Weights.Size != size || e.Scales != (Extent{}) || e.Biases != (Extent{}) {
		return fmt.Errorf("%d bytes, scales %d, biases %d, want %d, 0, 0: %w",
			e.Weights.Size, e.Scales.Size, e.Biases.Size, size, ErrTensorSize)
	}
	return e.checkEven(e.Weights)
}

func (e *Entry) checkAffine(bits, rows, columns int) error {
	if e.DType != U32 {
		return fmt.Errorf("dtype %s, want U32: %w", e.DType, ErrTensorDType)
	}
	if err := e.checkShape(rows, columns); err != nil {
		return err
	}
	weights, group, err := affineSizes(bits, rows, columns)
	if err != nil {
		return err
	}
	if e.Weights.Size != weights || e.Scales.Size != group || e.Biases.Size != group {
		return fmt.Errorf("%d bytes, scales %d, biases %d, want %d, %d, %d: %w",
			e.Weights.Size, e.Scales.Size, e.Biases.Size, weights, group, group, ErrTensorSize)
	}
	// 8-bit codes may begin anywhere, all others are read two bytes at a time at least.
	if bits != 8 {
		return e.checkEven(e.Weights, e.Scales, e.Biases)
	}
	return e.checkEven(e.Scales, e.Biases)
}

func (e *Entry) checkShape(rows, columns int) error {
	want := [4]uint64{uint64(rows), uint64(columns)}
	for i, n := range want {
		if uint64(e.Shape[i]) != n {
			return fmt.Errorf("shape %v, want %v: %w", e.Shape, want, ErrTensorShape)
		}
	}
	return nil
}

func (e *Entry) checkEven(extents ...Extent) error {
	for _, extent := range extents {
		if extent.Offset%2 != 0 {
			return fmt.Errorf("offset %d, want an even one: %w", extent.Offset, ErrTensorAlign)
		}
	}
	return nil
}

// affineSizes returns the bytes of the codes, and of the scales or the biases, of a [rows, columns] matrix.
func affineSizes(bits, rows, columns int) (weights, group uint64, err error) {
	if columns%GroupSize != 0 {
		return 0, 0, fmt.Errorf("%d columns, group %d: %w", columns, GroupSize, ErrGroupSplit)
	}
	elements, ok := mul(uint64(rows), uint64(columns))
	if ok {
		weights, ok = mul(elements, uint64(bits))
	}
	if !ok {
		return 0, 0, fmt.Errorf("%d times %d elements of %d bits: %w", rows, columns, bits, ErrDimensionLimit)
	}
	return weights / 8, elements / GroupSize * 2, nil
}

// indexEntries makes entries findable by name.
func indexEntries(x *Index) map[string]*Entry {
	entries := make(map[string]*Entry, len(x.Entries))
	for i := range x.Entries {
		entries[x.Entries[i].Name] = &x.Entries[i]
	}
	return entries
}

// sameExperts returns the index of the first expert whose tensors are not those of the first one, or -1.
func sameExperts(experts []ExpertRecord) int {
	return slices.IndexFunc(experts, func(e ExpertRecord) bool { return !sameTensors(e.Tensors, experts[0].Tensors) })
}
