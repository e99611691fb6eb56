package install

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// dims are the dimensions of a made-up checkpoint of the family.
type dims struct {
	hidden, ffn, moe, heads, kv, fullKV, headDim, fullHeadDim, vocab, experts, topK, window int
	full                                                                                    []bool // per layer
	shards                                                                                  int
	vision                                                                                  bool
}

// tiny has every kind of tensor in a few hundred kilobytes.
func tiny() dims {
	return dims{
		hidden: 64, ffn: 64, moe: 64, heads: 2, kv: 1, fullKV: 1, headDim: 32, fullHeadDim: 64, vocab: 128,
		experts: 3, topK: 2, window: 8, full: []bool{false, true}, shards: 2, vision: true,
	}
}

// pinned26B are the dimensions of the pinned checkpoint.
func pinned26B() dims {
	d := dims{
		hidden: 2816, ffn: 2112, moe: 704, heads: 16, kv: 8, fullKV: 2, headDim: 256, fullHeadDim: 512, vocab: 262144,
		experts: 128, topK: 8, window: 1024, shards: 3, vision: true,
	}
	for i := range 30 {
		d.full = append(d.full, i%6 == 5)
	}
	return d
}

// config writes the checkpoint's config.json.
func (d *dims) config() []byte {
	types := make([]string, len(d.full))
	overrides := map[string]any{"group_size": 64, "bits": 4, "mode": "affine"}
	for i, full := range d.full {
		types[i] = "sliding_attention"
		if full {
			types[i] = "full_attention"
		}
		overrides[fmt.Sprintf("language_model.model.layers.%d.router.proj", i)] = map[string]int{"group_size": 64, "bits": 8}
	}
	config := map[string]any{
		"model_type": "gemma4", "eos_token_id": []int{1, 106}, "quantization": overrides,
		"boi_token_id": 3, "image_token_id": 4, "eoi_token_id": 5,
		"text_config": map[string]any{
			"model_type": "gemma4_text", "hidden_size": d.hidden, "intermediate_size": d.ffn,
			"moe_intermediate_size": d.moe, "num_attention_heads": d.heads, "num_key_value_heads": d.kv,
			"num_global_key_value_heads": d.fullKV, "head_dim": d.headDim, "global_head_dim": d.fullHeadDim,
			"vocab_size": d.vocab, "sliding_window": d.window, "final_logit_softcapping": 30.0,
			"num_hidden_layers": len(d.full), "num_experts": d.experts, "top_k_experts": d.topK,
			"rope_parameters": map[string]any{
				"sliding_attention": map[string]any{"rope_type": "default", "rope_theta": 10000.0},
				"full_attention": map[string]any{
					"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25,
				},
			},
			"tie_word_embeddings": true, "attention_k_eq_v": true, "hidden_activation": "gelu_pytorch_tanh",
			"layer_types": types, "rms_norm_eps": 1e-6, "max_position_embeddings": 4096, "bos_token_id": 2,
			"pad_token_id": 0, "enable_moe_block": true, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0,
		},
	}
	if d.vision {
		config["vision_config"] = map[string]any{
			"model_type": "gemma4_vision", "hidden_size": 128, "num_hidden_layers": 1, "num_attention_heads": 2,
			"num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 64, "patch_size": 4, "pooling_kernel_size": 3,
			"position_embedding_size": 8, "rms_norm_eps": 1e-6, "standardize": true,
			"rope_parameters":   map[string]any{"rope_type": "default", "rope_theta": 100.0},
			"hidden_activation": "gelu_pytorch_tanh",
		}
	}
	return mustJSON(config)
}

// shapes lists the checkpoint's tensors without placing them.
func (d *dims) shapes() []Tensor {
	var all []Tensor
	plain := func(name string, shape ...int64) {
		all = append(all, Tensor{Name: name, DType: BF16, Shape: shape})
	}
	affine := func(name string, bits int64, shape ...int64) {
		at := func(last int64) []int64 { s := slices.Clone(shape); s[len(s)-1] = last; return s }
		columns := shape[len(shape)-1]
		all = append(all,
			Tensor{Name: name + ".weight", DType: U32, Shape: at(columns * bits / 32)},
			Tensor{Name: name + ".scales", DType: BF16, Shape: at(columns / 64)},
			Tensor{Name: name + ".biases", DType: BF16, Shape: at(columns / 64)})
	}
	h, ffn, moe, experts := int64(d.hidden), int64(d.ffn), int64(d.moe), int64(d.experts)
	affine("language_model.model.embed_tokens", 4, int64(d.vocab), h)
	plain("language_model.model.norm.weight", h)
	for i, full := range d.full {
		head, kv := int64(d.headDim), int64(d.kv)
		if full {
			head, kv = int64(d.fullHeadDim), int64(d.fullKV)
		}
		p := fmt.Sprintf("language_model.model.layers.%d.", i)
		for _, norm := range []string{
			"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "pre_feedforward_layernorm_2",
			"post_feedforward_layernorm", "post_feedforward_layernorm_1", "post_feedforward_layernorm_2",
		} {
			plain(p+norm+".weight", h)
		}
		plain(p+"layer_scalar", 1)
		plain(p+"router.scale", h)
		plain(p+"router.per_expert_scale", experts)
		plain(p+"self_attn.q_norm.weight", head)
		plain(p+"self_attn.k_norm.weight", head)
		affine(p+"self_attn.q_proj", 4, int64(d.heads)*head, h)
		affine(p+"self_attn.k_proj", 4, kv*head, h)
		if !full {
			affine(p+"self_attn.v_proj", 4, kv*head, h)
		}
		affine(p+"self_attn.o_proj", 4, h, int64(d.heads)*head)
		affine(p+"router.proj", 8, experts, h)
		affine(p+"mlp.gate_proj", 4, ffn, h)
		affine(p+"mlp.up_proj", 4, ffn, h)
		affine(p+"mlp.down_proj", 4, h, ffn)
		affine(p+"experts.switch_glu.gate_proj", 4, experts, moe, h)
		affine(p+"experts.switch_glu.up_proj", 4, experts, moe, h)
		affine(p+"experts.switch_glu.down_proj", 4, experts, h, moe)
	}
	if d.vision {
		d.tower(plain)
		affine("embed_vision.embedding_projection", 4, h, 128)
	}
	return all
}

// tower lists the plain tensors of a small image tower, in no order.
func (d *dims) tower(plain func(name string, shape ...int64)) {
	plain("vision_tower.std_bias", 128)
	plain("vision_tower.std_scale", 128)
	plain("vision_tower.patch_embedder.position_embedding_table", 2, 8, 128)
	plain("vision_tower.patch_embedder.input_proj.weight", 128, 48)
	p := "vision_tower.encoder.layers.0."
	for _, norm := range []string{"input", "post_attention", "pre_feedforward", "post_feedforward"} {
		plain(p+norm+"_layernorm.weight", 128)
	}
	for _, proj := range []string{"q", "k", "v", "o"} {
		plain(p+"self_attn."+proj+"_proj.linear.weight", 128, 128)
	}
	plain(p+"self_attn.q_norm.weight", 64)
	plain(p+"self_attn.k_norm.weight", 64)
	plain(p+"mlp.gate_proj.linear.weight", 64, 128)
	plain(p+"mlp.up_proj.linear.weight", 64, 128)
	plain(p+"mlp.down_proj.linear.weight", 128, 64)
}

// checkpoint is a made-up checkpoint: placed tensors, and the small files.
type checkpointFiles struct {
	tensors map[string]Tensor
	headers map[string][]byte // by shard: length and JSON
	sizes   map[string]int64
	small   map[string][]byte
}

// newCheckpoint places the tensors, sorted by name, in shards of about equal size, as the MLX converter does.
func newCheckpointFiles(d dims) *checkpointFiles {
	all := d.shapes()
	slices.SortFunc(all, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	var total int64
	for i := range all {
		all[i].Size, _ = product(all[i].Shape, all[i].DType.Bytes())
		total += all[i].Size
	}
	c := &checkpointFiles{
		tensors: map[string]Tensor{}, headers: map[string][]byte{}, sizes: map[string]int64{},
		small: map[string][]byte{
			configName:                d.config(),
			"tokenizer.json":          []byte(`{"model":{}}`),
			"tokenizer_config.json":   []byte(`{}`),
			"special_tokens_map.json": []byte(`{"bos_token":"<bos>"}`),
			"processor_config.json":   []byte(`{"processor_class":"P"}`),
		},
	}
	weightMap := map[string]string{}
	perShard := total/int64(d.shards) + 1
	var shard []Tensor
	var at int64
	flush := func() {
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", len(c.sizes)+1, d.shards)
		c.place(name, shard)
		for _, t := range shard {
			weightMap[t.Name] = name
		}
		shard, at = nil, 0
	}
	for _, t := range all {
		shard = append(shard, t)
		if at += t.Size; at >= perShard {
			flush()
		}
	}
	if len(shard) > 0 {
		flush()
	}
	c.small[indexName] = mustJSON(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": weightMap})
	return c
}

func (c *checkpointFiles) place(shard string, tensors []Tensor) {
	header := map[string]any{"__metadata__": map[string]string{"format": "mlx"}}
	at := int64(0)
	for _, t := range tensors {
		header[t.Name] = map[string]any{"dtype": t.DType, "shape": t.Shape, "data_offsets": []int64{at, at + t.Size}}
		at += t.Size
	}
	text := mustJSON(header)
	c.headers[shard] = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	base := int64(len(c.headers[shard]))
	c.sizes[shard] = base + at
	at = base
	for _, t := range tensors {
		t.Shard, t.Offset = shard, at
		c.tensors[t.Name] = t
		at += t.Size
	}
}

// payload returns the bytes of a tensor. They name themselves: a word out of place is seen at once.
func payload(t Tensor) []byte {
	h := fnv.New64a()
	io.WriteString(h, t.Name)
	seed := h.Sum64()
	data := make([]byte, 0, t.Size+8)
	for i := uint64(0); int64(len(data)) < t.Size; i++ {
		data = binary.LittleEndian.AppendUint64(data, (seed^i)*0x9E3779B97F4A7C15)
	}
	return data[:t.Size]
}

// files returns every file of the checkpoint with its bytes.
func (c *checkpointFiles) files() map[string][]byte {
	files := maps.Clone(c.small)
	for shard, header := range c.headers {
		files[shard] = append(slices.Clone(header), make([]byte, c.sizes[shard]-int64(len(header)))...)
	}
	for _, t := range c.tensors {
		copy(files[t.Shard][t.Offset:], payload(t))
	}
	return files
}

// memSource serves a checkpoint from memory. fail, where set, is asked before every read.
type memSource struct {
	files map[string][]byte
	fail  func(name string, off, n int64) error
}

func (s *memSource) Resolve(context.Context, string) (Origin, error) { return Origin{}, nil }

func (s *memSource) Size(_ context.Context, name string) (int64, error) {
	data, ok := s.files[name]
	if !ok {
		return 0, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return int64(len(data)), nil
}

func (s *memSource) Open(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.fail != nil {
		if err := s.fail(name, off, n); err != nil {
			return nil, err
		}
	}
	return io.NopCloser(bytes.NewReader(s.files[name][off : off+n])), nil
}

// headerSource serves only the headers and small files of a checkpoint whose payload is never read.
type headerSource struct{ c *checkpointFiles }

func (s headerSource) Resolve(context.Context, string) (Origin, error) { return Origin{}, nil }

func (s headerSource) Size(_ context.Context, name string) (int64, error) {
	if size, ok := s.c.sizes[name]; ok {
		return size, nil
	}
	return int64(len(s.c.small[name])), nil
}

func (s headerSource) Open(_ context.Context, name string, off, n int64) (io.ReadCloser, error) {
	data := s.c.small[name]
	if data == nil {
		data = s.c.headers[name]
	}
	return io.NopCloser(bytes.NewReader(data[off : off+n])), nil
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
