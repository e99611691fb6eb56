package install

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Names in a checkpoint of this family.
const (
	languagePrefix = "language_model."
	embeddingName  = "language_model.model.embed_tokens.weight"
	finalNormName  = "language_model.model.norm.weight"
)

// resident is a source tensor that becomes an entry of model_weights.bin, with its companions when it is quantized.
type resident struct {
	weights        Tensor
	scales, biases *Tensor
	bits           int // of a quantized tensor, else 0
}

// newResident pairs a tensor with its companions and checks that they fit.
func newResident(snap *Snapshot, t Tensor) (resident, error) {
	r := resident{weights: t}
	if t.DType != U32 || !strings.HasSuffix(t.Name, ".weight") {
		return r, nil
	}
	r.bits = snap.Parsed.Quantization.TensorBits(t.Name)
	if r.bits <= 0 || 32%r.bits != 0 {
		return r, fmt.Errorf("%w: %s has codes of %d bits, expected a divisor of 32", ErrTensor, t.Name, r.bits)
	}
	var err error
	if r.scales, err = snap.companion(t, ".scales"); err != nil {
		return r, err
	}
	r.biases, err = snap.companion(t, ".biases")
	return r, err
}

// companion returns the scales or biases of a quantized tensor, possibly from another shard.
func (s *Snapshot) companion(t Tensor, suffix string) (*Tensor, error) {
	name := strings.TrimSuffix(t.Name, ".weight") + suffix
	c, ok := s.Tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s, which %s needs", ErrMissingTensor, name, t.Name)
	}
	if c.DType != BF16 {
		return nil, fmt.Errorf("%w: %s is %s, expected BF16", ErrTensor, name, c.DType)
	}
	return &c, nil
}

// isCompanion reports whether a tensor is the scales or biases of another one, and which.
func isCompanion(name string) (base string, ok bool) {
	for _, suffix := range []string{".scales", ".biases"} {
		if stem, found := strings.CutSuffix(name, suffix); found {
			return stem + ".weight", true
		}
	}
	return "", false
}

// entry returns the tensor as the resident index describes it, without offsets.
func (r *resident) entry() (gturbo.Entry, error) {
	e := gturbo.Entry{Name: r.weights.Name, Weights: gturbo.Extent{Size: uint64(r.weights.Size)}}
	switch r.weights.DType {
	case U32:
		e.DType = gturbo.U32
	case BF16:
		e.DType = gturbo.BF16
	case F16:
		e.DType = gturbo.FP16
	case F32:
		e.DType = gturbo.FP32
	}
	shape := r.weights.Shape
	if r.bits != 0 {
		e.Scales.Size, e.Biases.Size = uint64(r.scales.Size), uint64(r.biases.Size)
		shape = logicalShape(shape, r.bits)
	}
	for i, d := range shape[:min(len(shape), len(e.Shape))] {
		if d <= 0 || d >= 1<<32 {
			return e, fmt.Errorf("%w: %s has shape %v", ErrTensor, r.weights.Name, r.weights.Shape)
		}
		e.Shape[i] = uint32(d)
	}
	return e, nil
}

// logicalShape returns the shape of a packed tensor as if it were dequantized.
func logicalShape(shape []int64, bits int) []int64 {
	logical := slices.Clone(shape)
	if n := len(logical); n > 0 {
		logical[n-1] *= int64(32 / bits)
	}
	return logical
}

// layerSlots gives the order of the entries of one layer; a name's slot is the first row that it contains.
var layerSlots = []string{
	".self_attn.q_proj.weight", ".self_attn.k_proj.weight", ".self_attn.v_proj.weight", ".self_attn.o_proj.weight",
	".self_attn.q_norm.weight", ".self_attn.k_norm.weight", ".router.proj.weight", ".router.scale",
	".router.per_expert_scale", ".mlp.gate_proj.weight", ".mlp.up_proj.weight", ".mlp.down_proj.weight",
	".input_layernorm.weight", ".post_attention_layernorm.weight", ".pre_feedforward_layernorm.weight",
	".pre_feedforward_layernorm_2.weight", ".post_feedforward_layernorm.weight",
	".post_feedforward_layernorm_1.weight", ".post_feedforward_layernorm_2.weight", ".layer_scalar",
}

// firstEndingSlot is where rows begin that must end a name instead of only being contained in it.
const firstEndingSlot = 12

// residentKey is what entries are sorted by: group, layer, slot and name.
type residentKey struct {
	group, layer, slot int
	name               string
}

func keyOf(name string) residentKey {
	key := residentKey{group: 2, name: name}
	switch layer, ok := layerOf(name); {
	case name == embeddingName:
		key.group = 0
	case name == finalNormName:
		key.group = 3
	case ok:
		key.group, key.layer, key.slot = 1, layer, slotOf(name)
	}
	return key
}

func slotOf(name string) int {
	for slot, pattern := range layerSlots {
		if slot < firstEndingSlot && strings.Contains(name, pattern) || strings.HasSuffix(name, pattern) {
			return slot
		}
	}
	return 100
}

// layerOf returns N of a name that contains ".layers.N.".
func layerOf(name string) (layer int, ok bool) {
	_, rest, found := strings.Cut(name, ".layers.")
	digits, _, ended := strings.Cut(rest, ".")
	if !found || !ended || len(digits) > 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), err == nil
}

func (k residentKey) compare(o residentKey) int {
	return cmp.Or(cmp.Compare(k.group, o.group), cmp.Compare(k.layer, o.layer), cmp.Compare(k.slot, o.slot),
		strings.Compare(k.name, o.name))
}

// residentIndex sorts the tensors into entry order and lays them out.
func residentIndex(tensors []resident) (*gturbo.Index, error) {
	slices.SortFunc(tensors, func(a, b resident) int { return keyOf(a.weights.Name).compare(keyOf(b.weights.Name)) })
	entries := make([]gturbo.Entry, len(tensors))
	for i := range tensors {
		var err error
		if entries[i], err = tensors[i].entry(); err != nil {
			return nil, err
		}
	}
	return gturbo.PlanIndex(entries)
}

// residentCopies lists where the payload of the index's entries comes from; tensors are in entry order.
func residentCopies(index *gturbo.Index, tensors []resident, file int) []copyOf {
	var copies []copyOf
	add := func(t *Tensor, to gturbo.Extent) {
		copies = append(copies, copyOf{shard: t.Shard, from: t.Offset, file: file, to: int64(to.Offset), size: t.Size})
	}
	for i := range tensors {
		e := &index.Entries[i]
		add(&tensors[i].weights, e.Weights)
		if tensors[i].bits != 0 {
			add(tensors[i].scales, e.Scales)
			add(tensors[i].biases, e.Biases)
		}
	}
	return copies
}
