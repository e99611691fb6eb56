package gturbo

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

func parseConfig(data []byte) error {
	_, err := ParseSourceConfig(data)
	return err
}

func TestSourceConfigOfTheDemo(t *testing.T) {
	data, err := os.ReadFile("../testdata/checkpoint/config.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseSourceConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	want := Arch{
		HiddenSize: 256, FFNIntermediate: 256, MoEIntermediateSize: 64, NumHeads: 4, NumKVHeads: 2, NumFullKVHeads: 1,
		HeadDim: 64, FullHeadDim: 128, VocabSize: 4096, SlidingWindow: 64, FinalLogitSoftcap: 30, RopeTheta: 10000,
		FullRopeTheta: 1000000, PartialRotaryFactor: 0.25, NumLayers: 6, NumExperts: 32, TopKExperts: 4,
		TieWordEmbeddings: true, AttentionKEqV: true, HiddenActivation: "gelu_pytorch_tanh",
		FullAttentionLayerMask: []int{0, 0, 0, 0, 0, 1},
	}
	if err := want.CheckEqual(&c.Arch); err != nil {
		t.Error(err)
	}
	if c.RMSNormEps != 1e-6 || c.MaxPositionEmbeddings != 131072 || c.BOS != 2 || c.Pad != 0 || !c.BidirectionalImages {
		t.Errorf("%+v", c)
	}
	if len(c.EOS) != 3 || c.EOS[0] != 1 || c.EOS[1] != 106 || c.EOS[2] != 50 {
		t.Errorf("eos %v", c.EOS)
	}
	v := c.Vision
	if v == nil || v.BeginImage != 4088 || v.ImageToken != 4090 || v.EndImage != 4092 || v.SoftTokens != 70 {
		t.Fatalf("vision %+v", v)
	}
	var tower struct {
		Hidden int `json:"hidden_size"`
	}
	if err := json.Unmarshal(v.Config, &tower); err != nil || tower.Hidden != 128 {
		t.Errorf("vision_config: %v, %s", err, v.Config)
	}
	for name, want := range map[string]int{
		"language_model.model.layers.0.router.proj.weight": 8, "language_model.model.layers.5.router.proj": 8,
		"language_model.model.embed_tokens.weight": 4, "language_model.model.layers.6.router.proj.weight": 4,
	} {
		if got := c.Quantization.TensorBits(name); got != want {
			t.Errorf("%s has %d bits, want %d", name, got, want)
		}
	}
}

func TestSourceConfigRejections(t *testing.T) {
	data := []byte(tinyConfig(tinyArch()))
	for _, c := range []rejection{
		{"another family", set("model_type", "gemma3"), ErrModelType, ErrUnsupported},
		{"another text model", set("text_config/model_type", "gemma3_text"), ErrModelType, ErrUnsupported},
		{"per-layer inputs", set("text_config/hidden_size_per_layer_input", 256), ErrPerLayerInputs, ErrUnsupported},
		{"KV sharing", set("text_config/num_kv_shared_layers", 1), ErrKVSharing, ErrUnsupported},
		{"double-wide MLP", set("text_config/use_double_wide_mlp", true), ErrDoubleWideMLP, ErrUnsupported},
		{"audio tower", set("audio_config", map[string]any{}), ErrAudioTower, ErrUnsupported},
		{"clipped linears", set("vision_config/use_clipped_linears", true), ErrClippedLinears, ErrUnsupported},
		{"attention bias", set("text_config/attention_bias", true), ErrAttentionBias, ErrUnsupported},
		{"layers without experts", set("text_config/enable_moe_block", false), ErrDenseModel, ErrUnsupported},
		{"output head of its own", set("text_config/tie_word_embeddings", false), ErrUntiedHead, ErrUnsupported},
		{"value projection in full layers", set("text_config/attention_k_eq_v", false), ErrSeparateValues,
			ErrUnsupported},
		{"another activation", set("text_config/hidden_activation", "silu"), ErrActivationType, ErrUnsupported},
		{"another layer type", set("text_config/layer_types/0", "linear_attention"), ErrLayerType, ErrUnsupported},
		{"another rotary type in sliding layers",
			set("text_config/rope_parameters/sliding_attention/rope_type", "yarn"), ErrRopeType, ErrUnsupported},
		{"another rotary type in full layers", set("text_config/rope_parameters/full_attention/rope_type", "default"),
			ErrRopeType, ErrUnsupported},
		{"bidirectional text", set("text_config/use_bidirectional_attention", "all"), ErrAttentionMask, ErrUnsupported},
		{"another quantization mode", set("quantization/mode", "mxfp4"), ErrConfigQuantType, ErrUnsupported},
		{"another group size", set("quantization/group_size", 32), ErrConfigQuantType, ErrUnsupported},
		{"an override of another mode", set("quantization/x", map[string]any{"mode": "nvfp4"}), ErrConfigQuantType,
			ErrUnsupported},
		{"an override of another group size", set("quantization/x", map[string]any{"group_size": 32}), ErrConfigQuant,
			ErrConfig},
		{"an override of 64 bits", set("quantization/x", map[string]any{"bits": 64}), ErrConfigNumber, ErrConfig},
		{"width 0", set("text_config/hidden_size", 0), ErrConfigNumber, ErrConfig},
		{"width beyond 31 bits", set("text_config/vocab_size", 1<<31), ErrConfigNumber, ErrConfig},
		{"width not a multiple of the group", set("text_config/hidden_size", 100), ErrConfigGroup, ErrConfig},
		{"shared width not a multiple of the group", set("text_config/intermediate_size", 96), ErrConfigGroup,
			ErrConfig},
		{"expert width not a multiple of the group", set("text_config/moe_intermediate_size", 32), ErrConfigGroup,
			ErrConfig},
		{"epsilon 0", set("text_config/rms_norm_eps", 0), ErrConfigNumber, ErrConfig},
		{"softcap negative", set("text_config/final_logit_softcapping", -30), ErrConfigNumber, ErrConfig},
		{"rotary share above 1", set("text_config/rope_parameters/full_attention/partial_rotary_factor", 2),
			ErrConfigNumber, ErrConfig},
		{"rope theta 0", set("text_config/rope_parameters/sliding_attention/rope_theta", 0), ErrConfigNumber,
			ErrConfig},
		{"layer types too few", set("text_config/layer_types", []string{"full_attention"}), ErrConfigLayers, ErrConfig},
		{"more experts chosen than there are", set("text_config/top_k_experts", 5), ErrConfigNumber, ErrConfig},
		{"query heads that KV heads do not divide", set("text_config/num_key_value_heads", 3), ErrConfigHeads,
			ErrConfig},
		{"query heads that full KV heads do not divide", set("text_config/num_global_key_value_heads", 3),
			ErrConfigHeads, ErrConfig},
		{"head width that has no pairs", set("text_config/head_dim", 33), ErrConfigNumber, ErrConfig},
		{"no id that ends a turn", set("eos_token_id", []int{}), ErrConfigNumber, ErrConfig},
		{"images without their token", remove("image_token_id"), strictjson.ErrMissing, ErrConfig},
		{"images without their first token", remove("boi_token_id"), strictjson.ErrMissing, ErrConfig},
		{"images without their last token", remove("eoi_token_id"), strictjson.ErrMissing, ErrConfig},
	} {
		c.run(t, data, parseConfig)
	}
}

func TestSourceConfigNamesTheFeature(t *testing.T) {
	data := mutate(t, []byte(tinyConfig(tinyArch())), set("text_config/num_kv_shared_layers", 20))
	err := parseConfig(data)
	const want = "config.json: text_config.num_kv_shared_layers: 20, want 0: KV sharing between layers"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestSourceConfigKeysAreRequired(t *testing.T) {
	data := []byte(tinyConfig(tinyArch()))
	required := []string{"model_type", "text_config", "quantization"}
	for _, key := range textKeys.Required {
		required = append(required, "text_config/"+key)
	}
	for _, key := range slidingRopeKeys.Required {
		required = append(required, "text_config/rope_parameters/sliding_attention/"+key)
	}
	for _, key := range fullRopeKeys.Required {
		required = append(required, "text_config/rope_parameters/full_attention/"+key)
	}
	var optional []string
	for _, key := range textKeys.Optional {
		optional = append(optional, "text_config/"+key)
	}
	jsonRejections(t, data, required, append(optional, "vision_soft_tokens_per_image"), parseConfig)
	rejection{"eos missing", remove("eos_token_id"), strictjson.ErrMissing, ErrConfig}.run(t, data, parseConfig)
}

func TestSourceConfigAccepts(t *testing.T) {
	data := []byte(tinyConfig(tinyArch()))
	for name, c := range map[string]change{
		"one id that ends a turn": set("eos_token_id", 1),
		"a text-only checkpoint": changes(
			set("vision_config", nil), remove("image_token_id"), remove("boi_token_id"), remove("eoi_token_id")),
		"no audio key":            remove("audio_config"),
		"no quantization details": set("quantization", map[string]any{}),
		"overrides that are no objects": set("quantization", map[string]any{
			"a": false, "b": "x", "c": map[string]any{},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			if err := parseConfig(mutate(t, data, c)); err != nil {
				t.Fatal(err)
			}
		})
	}
	text := changes(set("vision_config", nil), remove("image_token_id"))
	if c, err := ParseSourceConfig(mutate(t, data, text)); err != nil || c.Vision != nil {
		t.Errorf("text-only: vision %v, %v", c, err)
	}
}

func TestSourceConfigCap(t *testing.T) {
	data := tinyConfig(tinyArch())
	full := data + strings.Repeat(" ", 1<<20-len(data))
	if err := parseConfig([]byte(full)); err != nil {
		t.Errorf("padded to the cap: %v", err)
	}
	if err := parseConfig([]byte(full + " ")); !errors.Is(err, ErrMetadataCap) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestPinnedInstallWithoutConfigIsStillReadable(t *testing.T) {
	root, _ := newRoot(t)
	m := &Manifest{SourceSnapshotHash: pinnedSnapshot, Arch: pinnedArch()}
	c, err := ReadSource(root, m)
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxPositionEmbeddings != 262144 || c.Vision.ImageToken != 258880 || c.RMSNormEps != 1e-6 || len(c.EOS) != 3 {
		t.Errorf("%+v", c)
	}
	m.Arch.TopKExperts = 4
	if _, err := ReadSource(root, m); !errors.Is(err, ErrArch) {
		t.Errorf("another architecture under the pinned hash: %v", err)
	}
	m.SourceSnapshotHash = "sha256:" + SHA256(nil)
	if _, err := ReadSource(root, m); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another source: %v", err)
	}
}
