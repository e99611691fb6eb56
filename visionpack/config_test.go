package visionpack

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func pinnedConfig(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../gturbo/pinned_config.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const tinyConfig = `{"model_type": "gemma4_vision", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
	"num_key_value_heads": 4, "head_dim": 16, "intermediate_size": 24, "patch_size": 4, "pooling_kernel_size": 3,
	"position_embedding_size": 9, "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 100.0, "rope_type": "default"},
	"standardize": true, "hidden_activation": "gelu_pytorch_tanh", "attention_bias": false, "use_clipped_linears": false}`

func TestParseTowerReadsEveryDimension(t *testing.T) {
	got, err := ParseTower([]byte(tinyConfig), 128)
	if err != nil || *got != *tinyTower() {
		t.Errorf("got %+v, %v; want %+v", got, err, tinyTower())
	}
	if n := tinyTower().PatchDim(); n != 48 {
		t.Errorf("a patch has %d values, want 48", n)
	}
}

func TestParseTowerRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"another model", `"gemma4_vision"`, `"siglip"`},
		{"clipped linears", `"use_clipped_linears": false`, `"use_clipped_linears": true`},
		{"biases", `"attention_bias": false`, `"attention_bias": true`},
		{"no standardisation", `"standardize": true`, `"standardize": false`},
		{"another activation", `"gelu_pytorch_tanh"`, `"gelu"`},
		{"another rotary embedding", `"default"`, `"proportional"`},
		{"grouped heads", `"num_key_value_heads": 4`, `"num_key_value_heads": 2`},
		{"heads that do not fill the width", `"head_dim": 16`, `"head_dim": 8`},
		{"a width without whole groups", `"hidden_size": 64`, `"hidden_size": 96`},
		{"no layers", `"num_hidden_layers": 2`, `"num_hidden_layers": 0`},
		{"absurdly many layers", `"num_hidden_layers": 2`, `"num_hidden_layers": 100000`},
		{"a negative dimension", `"intermediate_size": 24`, `"intermediate_size": -24`},
		{"a dimension that overflows", `"intermediate_size": 24`, `"intermediate_size": 1e18`},
		{"no epsilon", `"rms_norm_eps": 1e-06`, `"rms_norm_eps": 0`},
		{"a missing key", `"head_dim": 16, `, ``},
	} {
		config := strings.Replace(tinyConfig, c.old, c.new, 1)
		if config == tinyConfig {
			t.Fatalf("%s: nothing to replace", c.name)
		}
		if _, err := ParseTower([]byte(config), 128); !errors.Is(err, ErrTower) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := ParseTower([]byte(tinyConfig), 0); !errors.Is(err, ErrTower) {
		t.Errorf("no text width: %v", err)
	}
}

func TestProcessorIsReadNestedOrPlain(t *testing.T) {
	for _, config := range []string{tinyProcessor, `{"max_soft_tokens": 140}`} {
		p, err := ParseProcessor([]byte(config), tinyTower())
		if err != nil || p.MaxSoftTokens != 140 {
			t.Errorf("%s: %v, %v", config, p, err)
		}
	}
}

func TestProcessorRefusesWhatIsNotDoneHere(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"normalisation", `"do_normalize": false`, `"do_normalize": true`},
		{"no resizing", `"do_resize": true`, `"do_resize": false`},
		{"no scaling", `"do_rescale": true`, `"do_rescale": false`},
		{"another scale", `0.00392156862745098`, `0.0078`},
		{"another filter", `"resample": 3`, `"resample": 2`},
		{"another patch", `"patch_size": 4`, `"patch_size": 14`},
		{"another pooling", `"pooling_kernel_size": 3`, `"pooling_kernel_size": 2`},
		{"no budget", `"max_soft_tokens": 140, `, ``},
		{"a budget of nothing", `"max_soft_tokens": 140`, `"max_soft_tokens": 0`},
		{"an absurd budget", `"max_soft_tokens": 140`, `"max_soft_tokens": 1000000`},
		{"half a file", `}}`, ``},
	} {
		config := strings.Replace(tinyProcessor, c.old, c.new, 1)
		if config == tinyProcessor {
			t.Fatalf("%s: nothing to replace", c.name)
		}
		if _, err := ParseProcessor([]byte(config), tinyTower()); !errors.Is(err, ErrProcessor) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
