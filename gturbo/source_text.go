package gturbo

import (
	"errors"
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

var (
	// textKeys: every member of the family writes the required ones. The optional ones mean "off" when absent.
	textKeys = strictjson.Keys{
		Required: []string{
			"model_type", "hidden_size", "intermediate_size", "moe_intermediate_size", "num_attention_heads",
			"num_key_value_heads", "num_global_key_value_heads", "head_dim", "global_head_dim", "vocab_size",
			"sliding_window", "final_logit_softcapping", "num_hidden_layers", "num_experts", "top_k_experts",
			"rope_parameters", "tie_word_embeddings", "attention_k_eq_v", "hidden_activation", "layer_types",
			"rms_norm_eps", "max_position_embeddings", "bos_token_id", "pad_token_id", "enable_moe_block",
			"hidden_size_per_layer_input", "num_kv_shared_layers",
		},
		Optional: []string{"use_double_wide_mlp", "attention_bias", "use_bidirectional_attention"},
	}
	ropeKeys        = strictjson.Keys{Required: []string{"sliding_attention", "full_attention"}}
	slidingRopeKeys = strictjson.Keys{Required: []string{"rope_type", "rope_theta"}}
	fullRopeKeys    = strictjson.Keys{Required: []string{"rope_type", "rope_theta", "partial_rotary_factor"}}
)

func (p *configParser) text(r *strictjson.Reader) error {
	a := &p.Arch
	integers := map[string]*int{
		"hidden_size": &a.HiddenSize, "intermediate_size": &a.FFNIntermediate,
		"moe_intermediate_size": &a.MoEIntermediateSize, "num_attention_heads": &a.NumHeads,
		"num_key_value_heads": &a.NumKVHeads, "num_global_key_value_heads": &a.NumFullKVHeads,
		"head_dim": &a.HeadDim, "global_head_dim": &a.FullHeadDim, "vocab_size": &a.VocabSize,
		"sliding_window": &a.SlidingWindow, "num_hidden_layers": &a.NumLayers, "num_experts": &a.NumExperts,
		"top_k_experts": &a.TopKExperts, "max_position_embeddings": &p.MaxPositionEmbeddings,
	}
	return r.Object(textKeys, func(key string) error {
		if dst, ok := integers[key]; ok {
			return positive(r, dst)
		}
		return p.textMember(r, key)
	})
}

func (p *configParser) textMember(r *strictjson.Reader, key string) error {
	switch key {
	case "model_type":
		return want(r, "gemma4_text", ErrModelType)
	case "final_logit_softcapping":
		return positiveFloat(r, &p.Arch.FinalLogitSoftcap)
	case "rms_norm_eps":
		return positiveFloat(r, &p.RMSNormEps)
	case "bos_token_id":
		return r.Int32(&p.BOS)
	case "pad_token_id":
		return r.Int32(&p.Pad)
	case "rope_parameters":
		return p.rope(r)
	case "layer_types":
		return p.layers(r)
	case "hidden_activation":
		p.Arch.HiddenActivation = "gelu_pytorch_tanh"
		return want(r, p.Arch.HiddenActivation, ErrActivationType)
	case "tie_word_embeddings":
		p.Arch.TieWordEmbeddings = true
		return demand(r, ErrUntiedHead)
	case "attention_k_eq_v":
		p.Arch.AttentionKEqV = true
		return demand(r, ErrSeparateValues)
	case "enable_moe_block":
		return demand(r, ErrDenseModel)
	case "hidden_size_per_layer_input":
		return zero(r, ErrPerLayerInputs)
	case "num_kv_shared_layers":
		return zero(r, ErrKVSharing)
	case "use_double_wide_mlp":
		return refuse(r, ErrDoubleWideMLP)
	case "attention_bias":
		return refuse(r, ErrAttentionBias)
	default:
		p.BidirectionalImages = true
		return want(r, "vision", ErrAttentionMask)
	}
}

func (p *configParser) rope(r *strictjson.Reader) error {
	return r.Object(ropeKeys, func(key string) error {
		keys, kind, theta := slidingRopeKeys, "default", &p.Arch.RopeTheta
		if key == "full_attention" {
			keys, kind, theta = fullRopeKeys, "proportional", &p.Arch.FullRopeTheta
		}
		return r.Object(keys, func(key string) error {
			switch key {
			case "rope_type":
				return want(r, kind, ErrRopeType)
			case "rope_theta":
				return positiveFloat(r, theta)
			default:
				return r.Float(&p.Arch.PartialRotaryFactor)
			}
		})
	})
}

func (p *configParser) layers(r *strictjson.Reader) error {
	return r.Array(func(int) error {
		var kind string
		if err := r.String(&kind); err != nil {
			return err
		}
		switch kind {
		case "sliding_attention":
			p.Arch.FullAttentionLayerMask = append(p.Arch.FullAttentionLayerMask, 0)
		case "full_attention":
			p.Arch.FullAttentionLayerMask = append(p.Arch.FullAttentionLayerMask, 1)
		default:
			return fmt.Errorf("%q: %w", kind, ErrLayerType)
		}
		return nil
	})
}

// checkText checks what the dimensions say together.
func (p *configParser) checkText() error {
	a := &p.Arch
	if len(a.FullAttentionLayerMask) != a.NumLayers {
		return fmt.Errorf("layer_types has %d of %d layers: %w",
			len(a.FullAttentionLayerMask), a.NumLayers, ErrConfigLayers)
	}
	if a.PartialRotaryFactor < 0 || a.PartialRotaryFactor > 1 {
		return fmt.Errorf("partial_rotary_factor %v, want 0 to 1: %w", a.PartialRotaryFactor, ErrConfigNumber)
	}
	if a.TopKExperts > a.NumExperts {
		return fmt.Errorf("top_k_experts %d of %d: %w", a.TopKExperts, a.NumExperts, ErrConfigNumber)
	}
	if a.NumHeads%a.NumKVHeads != 0 || a.NumHeads%a.NumFullKVHeads != 0 {
		return fmt.Errorf("%d query heads, %d and %d KV heads: %w",
			a.NumHeads, a.NumKVHeads, a.NumFullKVHeads, ErrConfigHeads)
	}
	if a.HeadDim%2 != 0 || a.FullHeadDim%2 != 0 {
		return fmt.Errorf("head widths %d and %d, want even ones: %w", a.HeadDim, a.FullHeadDim, ErrConfigNumber)
	}
	for _, width := range []namedInt{
		{"hidden_size", &a.HiddenSize}, {"intermediate_size", &a.FFNIntermediate},
		{"moe_intermediate_size", &a.MoEIntermediateSize},
	} {
		if *width.value%GroupSize != 0 {
			return fmt.Errorf("%s %d, group %d: %w", width.name, *width.value, GroupSize, ErrConfigGroup)
		}
	}
	return nil
}

// positive reads an integer from 1 to the largest 32-bit one.
func positive(r *strictjson.Reader, dst *int) error {
	if err := r.Int(dst); err != nil {
		return err
	}
	if *dst < 1 || *dst > math.MaxInt32 {
		return fmt.Errorf("%d, want 1 to %d: %w", *dst, math.MaxInt32, ErrConfigNumber)
	}
	return nil
}

func positiveFloat(r *strictjson.Reader, dst *float64) error {
	if err := r.Float(dst); err != nil {
		return err
	}
	if *dst <= 0 {
		return fmt.Errorf("%v, want more than 0: %w", *dst, ErrConfigNumber)
	}
	return nil
}

// zero reads an integer that must be 0.
func zero(r *strictjson.Reader, otherwise error) error {
	var n int
	if err := r.Int(&n); err != nil {
		return err
	}
	if n != 0 {
		return fmt.Errorf("%d, want 0: %w", n, otherwise)
	}
	return nil
}

// configError puts a failure of parsing into class ErrConfig, unless it is of class ErrUnsupported.
func configError(err error) error {
	if errors.Is(err, ErrConfig) || errors.Is(err, ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrConfig, err)
}
