package synth

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Full returns the config.json of the true shapes: Gemma 4 26B-A4B with its image tower, 15.3 GB of checkpoint.
func Full() []byte {
	return config(dims{
		text: map[string]any{
			"hidden_size": 2816, "intermediate_size": 2112, "moe_intermediate_size": 704, "num_attention_heads": 16,
			"num_key_value_heads": 8, "num_global_key_value_heads": 2, "head_dim": 256, "global_head_dim": 512,
			"num_experts": 128, "sliding_window": 1024, "vocab_size": 262144,
		},
		vision: map[string]any{
			"hidden_size": 1152, "intermediate_size": 4304, "num_attention_heads": 16, "num_key_value_heads": 16,
			"num_hidden_layers": 27, "position_embedding_size": 10240, "default_output_length": 280,
		},
		layers: 30, ids: [8]int{255999, 256000, 258880, 258881, 258882, 258883, 258883, 258884}, softTokens: 280,
	})
}

// Thin returns the config.json of a small member with awkward shapes, for tests: 12 layers of which 2 are full, 40
// experts of width 192, a shared expert of width 320, vision heads of 72, a window of 96; 94 MB installed.
func Thin() []byte {
	return config(dims{
		text: map[string]any{
			"hidden_size": 512, "intermediate_size": 320, "moe_intermediate_size": 192, "num_attention_heads": 4,
			"num_key_value_heads": 2, "num_global_key_value_heads": 1, "head_dim": 64, "global_head_dim": 128,
			"num_experts": 40, "sliding_window": 96, "vocab_size": 4096,
		},
		vision: map[string]any{
			"hidden_size": 576, "intermediate_size": 272, "num_attention_heads": 8, "num_key_value_heads": 8,
			"num_hidden_layers": 3, "position_embedding_size": 640, "default_output_length": 70,
		},
		layers: 12, ids: [8]int{4088, 4089, 4090, 4091, 4092, 4093, 4093, 4094}, softTokens: 70,
	})
}

// dims are what differs between the two configurations.
type dims struct {
	text, vision map[string]any
	layers       int // five sliding ones and a full one, repeated
	ids          [8]int
	softTokens   int
}

func config(d dims) []byte {
	types := make([]string, d.layers)
	quantization := map[string]any{"group_size": 64, "bits": 4, "mode": "affine"}
	for i := range types {
		types[i] = "sliding_attention"
		if i%6 == 5 {
			types[i] = "full_attention"
		}
		router := fmt.Sprintf("language_model.model.layers.%d.router.proj", i)
		quantization[router] = map[string]int{"group_size": 64, "bits": 8}
	}
	text := merge(d.text, map[string]any{
		"model_type": "gemma4_text", "num_hidden_layers": d.layers, "layer_types": types, "top_k_experts": 8,
		"attention_bias": false, "attention_k_eq_v": true, "enable_moe_block": true, "final_logit_softcapping": 30.0,
		"hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "max_position_embeddings": 262144,
		"rope_parameters": map[string]any{
			"full_attention": map[string]any{
				"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional",
			},
			"sliding_attention": map[string]any{"rope_theta": 10000.0, "rope_type": "default"},
		},
		"tie_word_embeddings": true, "use_bidirectional_attention": "vision", "hidden_size_per_layer_input": 0,
		"num_kv_shared_layers": 0, "use_double_wide_mlp": false, "dtype": "bfloat16",
		"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0,
	})
	vision := merge(d.vision, map[string]any{
		"model_type": "gemma4_vision", "attention_bias": false, "hidden_activation": "gelu_pytorch_tanh",
		"head_dim": 72, "global_head_dim": 72, "max_position_embeddings": 131072, "patch_size": 16,
		"pooling_kernel_size": 3, "rms_norm_eps": 1e-6, "standardize": true, "use_clipped_linears": false,
		"rope_parameters": map[string]any{"rope_theta": 100.0, "rope_type": "default"}, "dtype": "bfloat16",
	})
	top := map[string]any{
		"model_type": "gemma4", "architectures": []string{"Gemma4ForConditionalGeneration"}, "audio_config": nil,
		"text_config": text, "vision_config": vision, "quantization": quantization, "eos_token_id": []int{1, 106, 50},
		"tie_word_embeddings": true, "vision_soft_tokens_per_image": d.softTokens, "dtype": "bfloat16",
	}
	for i, key := range []string{
		"boi_token_id", "boa_token_id", "image_token_id", "audio_token_id", "eoi_token_id", "eoa_token_id",
		"eoa_token_index", "video_token_id",
	} {
		top[key] = d.ids[i]
	}
	return mustJSON(top)
}

func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func mustJSON(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("BUG: synth: " + err.Error())
	}
	return append(data, '\n')
}

// model is a parsed configuration.
type model struct {
	*gturbo.SourceConfig
	tower *tower         // nil without images
	media map[string]int // id of each media token that config.json places
}

// tower holds the dimensions of the image tower.
type tower struct {
	HiddenSize            int `json:"hidden_size"`
	IntermediateSize      int `json:"intermediate_size"`
	NumAttentionHeads     int `json:"num_attention_heads"`
	HeadDim               int `json:"head_dim"`
	NumHiddenLayers       int `json:"num_hidden_layers"`
	PatchSize             int `json:"patch_size"`
	PoolingKernelSize     int `json:"pooling_kernel_size"`
	PositionEmbeddingSize int `json:"position_embedding_size"`
}

// parse reads a config.json. The recipe quantizes to 4 bits, routers to 8: a configuration that says otherwise is
// refused. Errors wrap ErrConfig.
func parse(config []byte) (*model, error) {
	source, err := gturbo.ParseSourceConfig(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	m := &model{SourceConfig: source}
	if err := m.readMedia(config); err != nil {
		return nil, err
	}
	a := &m.Arch
	for i := range a.NumLayers {
		router := fmt.Sprintf("language_model.model.layers.%d.router.proj", i)
		if bits := m.Quantization.TensorBits(router); bits != 8 {
			return nil, fmt.Errorf("%s: %d bits, the recipe has 8: %w", router, bits, ErrConfig)
		}
	}
	if m.Quantization.Bits != 4 || len(m.Quantization.Overrides) != a.NumLayers {
		return nil, fmt.Errorf("%d bits and %d overrides, the recipe has 4 and one per router: %w",
			m.Quantization.Bits, len(m.Quantization.Overrides), ErrConfig)
	}
	if a.NumHeads*a.HeadDim%64 != 0 || a.NumHeads*a.FullHeadDim%64 != 0 {
		return nil, fmt.Errorf("%d heads of %d and %d: the output projection has no whole groups of 64: %w",
			a.NumHeads, a.HeadDim, a.FullHeadDim, ErrConfig)
	}
	if m.Vision == nil {
		return m, nil
	}
	m.tower = &tower{}
	if err := json.Unmarshal(m.Vision.Config, m.tower); err != nil {
		return nil, fmt.Errorf("vision_config: %w: %w", ErrConfig, err)
	}
	w := m.tower
	if slices.Min([]int{w.HiddenSize, w.IntermediateSize, w.NumAttentionHeads, w.HeadDim, w.NumHiddenLayers, w.PatchSize,
		w.PoolingKernelSize, w.PositionEmbeddingSize}) < 1 || w.HiddenSize%64 != 0 {
		return nil, fmt.Errorf("vision_config: a dimension is missing, or hidden_size %d is no multiple of 64: %w",
			w.HiddenSize, ErrConfig)
	}
	return m, nil
}

// mediaTokens maps the keys of config.json to the tokens whose ids they give.
var mediaTokens = map[string]string{
	"boi_token_id": "<|image>", "boa_token_id": "<|audio>", "image_token_id": "<|image|>",
	"audio_token_id": "<|audio|>", "eoi_token_id": "<image|>", "eoa_token_id": "<audio|>",
	"video_token_id": "<|video|>",
}

// readMedia reads where the tokens of pictures and sounds lie.
func (m *model) readMedia(config []byte) error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(config, &top); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	m.media = map[string]int{}
	for key, token := range mediaTokens {
		raw, ok := top[key]
		if !ok {
			continue
		}
		var id int
		if err := json.Unmarshal(raw, &id); err != nil {
			return fmt.Errorf("%s: %w: %w", key, ErrConfig, err)
		}
		if id < 0 || id >= m.Arch.VocabSize {
			return fmt.Errorf("%s is %d, the vocabulary ends at %d: %w", key, id, m.Arch.VocabSize, ErrConfig)
		}
		m.media[token] = id
	}
	return nil
}
