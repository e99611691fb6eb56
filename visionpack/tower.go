package visionpack

import (
	"fmt"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Tower holds the dimensions and constants of an image tower: Dv hidden width, heads of Dh, F FFN width, k pooling
// kernel. They come from the vision_config of the text model's configuration; the pack's tensors must fit them.
type Tower struct {
	Hidden, Layers, Heads, HeadDim, Width int
	Patch                                 int // pixels a side of a patch
	Pool                                  int // k
	PositionRows                          int // rows of the position table, per axis
	RopeTheta                             float64
	RMSNormEps                            float64
	TextHidden                            int // D of the projected rows
}

// PatchDim is the number of values of a patch.
func (t *Tower) PatchDim() int { return 3 * t.Patch * t.Patch }

// maxLayers bounds what a configuration may claim before the pack's own list is compared with it.
const maxLayers = 1024

// ParseTower reads a vision_config. A missing key is an error, never a default: defaults of the family describe its
// other members. Errors wrap ErrTower.
func ParseTower(config []byte, textHidden int) (*Tower, error) {
	t := &Tower{TextHidden: textHidden}
	kvHeads := 0
	err := strictjson.Parse(config, func(r *strictjson.Reader) error {
		return r.Object(towerKeys, func(key string) error { return t.read(r, key, &kvHeads) })
	})
	if err == nil {
		err = t.check(kvHeads)
	}
	if err != nil {
		return nil, fmt.Errorf("vision_config: %w: %w", ErrTower, err)
	}
	return t, nil
}

var (
	towerKeys = strictjson.Keys{
		Required: []string{
			"model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
			"intermediate_size", "patch_size", "pooling_kernel_size", "position_embedding_size", "rms_norm_eps",
			"rope_parameters", "standardize", "hidden_activation",
		},
		Optional: []string{"attention_bias", "use_clipped_linears"},
	}
	ropeKeys = strictjson.Keys{Required: []string{"rope_theta", "rope_type"}}
)

func (t *Tower) read(r *strictjson.Reader, key string, kvHeads *int) error {
	ints := map[string]*int{
		"hidden_size": &t.Hidden, "num_hidden_layers": &t.Layers, "num_attention_heads": &t.Heads,
		"num_key_value_heads": kvHeads, "head_dim": &t.HeadDim, "intermediate_size": &t.Width, "patch_size": &t.Patch,
		"pooling_kernel_size": &t.Pool, "position_embedding_size": &t.PositionRows,
	}
	switch key {
	case "rms_norm_eps":
		return r.Float(&t.RMSNormEps)
	case "rope_parameters":
		return r.Object(ropeKeys, func(key string) error {
			if key == "rope_theta" {
				return r.Float(&t.RopeTheta)
			}
			return text(r, "default")
		})
	case "model_type":
		return text(r, "gemma4_vision")
	case "hidden_activation":
		return text(r, "gelu_pytorch_tanh")
	case "standardize":
		return flag(r, key, true)
	case "attention_bias", "use_clipped_linears":
		return flag(r, key, false)
	default:
		return r.Int(ints[key])
	}
}

// text reads a string that must be exactly want.
func text(r *strictjson.Reader, want string) error {
	var got string
	err := r.String(&got)
	if err == nil && got != want {
		err = fmt.Errorf("%q, want %q", got, want)
	}
	return err
}

// flag reads a boolean that must be want.
func flag(r *strictjson.Reader, key string, want bool) error {
	var got bool
	err := r.Bool(&got)
	if err == nil && got != want {
		err = fmt.Errorf("%s is %t, want %t", key, got, want)
	}
	return err
}

func (t *Tower) check(kvHeads int) error {
	const most = 1 << 20 // far above any member; keeps products of two in range
	for _, d := range []int{
		t.Hidden, t.Layers, t.Heads, t.HeadDim, t.Width, t.Patch, t.Pool, t.PositionRows, t.TextHidden,
	} {
		if d < 1 || d > most {
			return fmt.Errorf("dimension %d is outside [1, %d]", d, most)
		}
	}
	switch {
	case t.Layers > maxLayers:
		return fmt.Errorf("%d layers, at most %d", t.Layers, maxLayers)
	case kvHeads != t.Heads:
		return fmt.Errorf("%d KV heads for %d heads", kvHeads, t.Heads)
	case t.Heads*t.HeadDim != t.Hidden || t.HeadDim%4 != 0:
		return fmt.Errorf("%d heads of %d in a width of %d", t.Heads, t.HeadDim, t.Hidden)
	case t.Hidden%gturbo.GroupSize != 0:
		return fmt.Errorf("width %d is not a multiple of the quantization group %d", t.Hidden, gturbo.GroupSize)
	case !(t.RopeTheta > 1 && t.RopeTheta < 1e9) || !(t.RMSNormEps > 0 && t.RMSNormEps < 1):
		return fmt.Errorf("rope_theta %v, rms_norm_eps %v", t.RopeTheta, t.RMSNormEps)
	}
	return nil
}

// The tensors' names. Those of a layer follow LayerPrefix.
const (
	PatchProjection   = "vision_tower.patch_embedder.input_proj.weight"
	PositionTable     = "vision_tower.patch_embedder.position_embedding_table"
	StandardBias      = "vision_tower.std_bias"
	StandardScale     = "vision_tower.std_scale"
	Projector         = "embed_vision.embedding_projection.weight"
	ProjectorScales   = "embed_vision.embedding_projection.scales"
	ProjectorBiases   = "embed_vision.embedding_projection.biases"
	layerPrefixFormat = "vision_tower.encoder.layers.%d."
)

// LayerPrefix returns what the names of layer l's tensors begin with.
func LayerPrefix(l int) string { return fmt.Sprintf(layerPrefixFormat, l) }

// A want is a tensor that the tower must have.
type want struct {
	name  string
	dtype string
	shape []uint64
}

// groups returns the tower's tensors in execution order, cut into what is mapped and used as one: the patch
// embedding, each layer, and what follows the last layer.
func (t *Tower) groups() [][]want {
	vector := func(name string, n int) want { return want{name, BF16, []uint64{uint64(n)}} }
	matrix := func(name string, out, in int) want { return want{name, BF16, []uint64{uint64(out), uint64(in)}} }
	groups := [][]want{{
		matrix(PatchProjection, t.Hidden, t.PatchDim()),
		{PositionTable, BF16, []uint64{2, uint64(t.PositionRows), uint64(t.Hidden)}},
	}}
	for l := range t.Layers {
		p := LayerPrefix(l)
		groups = append(groups, []want{
			vector(p+"input_layernorm.weight", t.Hidden),
			matrix(p+"mlp.down_proj.linear.weight", t.Hidden, t.Width),
			matrix(p+"mlp.gate_proj.linear.weight", t.Width, t.Hidden),
			matrix(p+"mlp.up_proj.linear.weight", t.Width, t.Hidden),
			vector(p+"post_attention_layernorm.weight", t.Hidden),
			vector(p+"post_feedforward_layernorm.weight", t.Hidden),
			vector(p+"pre_feedforward_layernorm.weight", t.Hidden),
			vector(p+"self_attn.k_norm.weight", t.HeadDim),
			matrix(p+"self_attn.k_proj.linear.weight", t.Hidden, t.Hidden),
			matrix(p+"self_attn.o_proj.linear.weight", t.Hidden, t.Hidden),
			vector(p+"self_attn.q_norm.weight", t.HeadDim),
			matrix(p+"self_attn.q_proj.linear.weight", t.Hidden, t.Hidden),
			matrix(p+"self_attn.v_proj.linear.weight", t.Hidden, t.Hidden),
		})
	}
	perRow := t.Hidden / gturbo.GroupSize
	return append(groups, []want{
		vector(StandardBias, t.Hidden), vector(StandardScale, t.Hidden),
		matrix(ProjectorBiases, t.TextHidden, perRow), matrix(ProjectorScales, t.TextHidden, perRow),
		{Projector, U32, []uint64{uint64(t.TextHidden), uint64(t.Hidden / 8)}},
	})
}

// Fits holds the tensors of a pack to the tower: all of them, in execution order, and no others. Errors wrap
// ErrSchema.
func (t *Tower) Fits(tensors []Tensor) error {
	_, err := t.fit(tensors)
	return err
}

// fit returns how many of the tensors belong to each group.
func (t *Tower) fit(tensors []Tensor) ([]int, error) {
	var sizes []int
	at := 0
	for _, group := range t.groups() {
		for _, w := range group {
			if at == len(tensors) || tensors[at].Name != w.name {
				return nil, misfit(tensors, at, w)
			}
			got := &tensors[at]
			if got.DType != w.dtype {
				return nil, fmt.Errorf("%s: dtype %s, want %s: %w", w.name, got.DType, w.dtype, ErrTensorDType)
			}
			if !equalShape(got.Shape, w.shape) {
				return nil, fmt.Errorf("%s: shape %v, want %v: %w", w.name, got.Shape, w.shape, ErrTensorShape)
			}
			at++
		}
		sizes = append(sizes, len(group))
	}
	if at < len(tensors) {
		return nil, fmt.Errorf("%s: %w", tensors[at].Name, ErrTensorExtra)
	}
	return sizes, nil
}

// misfit says what is wrong where w should stand: a tensor of another kind, of another place, or nothing.
func misfit(tensors []Tensor, at int, w want) error {
	if at < len(tensors) && !strings.HasPrefix(tensors[at].Name, "vision_tower.") &&
		!strings.HasPrefix(tensors[at].Name, "embed_vision.") {
		return fmt.Errorf("%s: %w", tensors[at].Name, ErrTensorExtra)
	}
	return fmt.Errorf("tensor %d should be %s: %w", at, w.name, ErrTensorMissing)
}

// equalShape compares shapes; the position table may lack its leading 2 as an axis of its own.
func equalShape(got, want []uint64) bool {
	if len(want) == 3 && len(got) == 2 {
		want = []uint64{want[0] * want[1], want[2]}
	}
	if len(got) != len(want) {
		return false
	}
	for i, d := range want {
		if got[i] != d {
			return false
		}
	}
	return true
}
