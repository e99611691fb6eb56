package gturbo

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestOpenRejections(t *testing.T) {
	const layer = "language_model.model.layers.1."
	tensor := func(name string, change func(*Entry)) func(*tinyInstall) {
		return func(ti *tinyInstall) {
			for i := range ti.index.Entries {
				if ti.index.Entries[i].Name == name {
					change(&ti.index.Entries[i])
					return
				}
			}
			panic("no tensor " + name)
		}
	}
	role := func(layer, expert int, name string, change func(*SubTensor)) func(*tinyInstall) {
		return func(ti *tinyInstall) {
			records := ti.layout.Layers[layer].Experts
			own := map[string]SubTensor{}
			for key, value := range records[expert].Tensors {
				own[key] = value
			}
			if value := own[name]; change == nil {
				delete(own, name)
			} else {
				change(&value)
				own[name] = value
			}
			for e := range records {
				if e == expert || expert == 0 {
					records[e].Tensors = own
				}
			}
			if layer == 0 && expert == 0 { // one layout for all: what is wrong is wrong everywhere
				for l := range ti.layout.Layers {
					for e := range records {
						ti.layout.Layers[l].Experts[e].Tensors = own
					}
				}
			}
		}
	}
	bits := 4
	for _, c := range []struct {
		name        string
		change      func(*tinyInstall)
		want, class error
	}{
		{"manifest that is no JSON", func(ti *tinyInstall) { ti.raw[ManifestFile] = []byte("{") }, ErrCorrupt, nil},
		{"manifest above its cap", func(ti *tinyInstall) { ti.raw[ManifestFile] = make([]byte, MaxManifestSize+1) },
			ErrMetadataCap, nil},
		{"quantized KV cache", func(ti *tinyInstall) { ti.manifest.Flags[FlagTurboQuantKV] = true }, ErrTurboQuantKV,
			ErrUnsupported},
		{"no quantization", func(ti *tinyInstall) { ti.manifest.Quant = nil }, ErrQuantMissing, ErrCorrupt},
		{"config of another model", func(ti *tinyInstall) {
			ti.config = strings.Replace(ti.config, `"sliding_window": 8`, `"sliding_window": 9`, 1)
		}, ErrArch, nil},
		{"config with a feature we do not run", func(ti *tinyInstall) {
			ti.config = strings.Replace(ti.config, `"attention_bias": false`, `"attention_bias": true`, 1)
		}, ErrAttentionBias, ErrUnsupported},
		{"layout above its cap", func(ti *tinyInstall) { ti.raw[LayoutFile] = make([]byte, MaxLayoutSize+1) },
			ErrMetadataCap, nil},
		{"layout that is no JSON", func(ti *tinyInstall) { ti.raw[LayoutFile] = []byte("[]") }, ErrCorrupt, nil},
		{"layout of another stride", func(ti *tinyInstall) { ti.manifest.ExpertStride = 2 * Align },
			ErrLayoutManifest, ErrCorrupt},
		{"layer file not listed", func(ti *tinyInstall) { ti.layout.Layers[1].File = "other.bin" },
			ErrLayoutLayerFile, ErrCorrupt},
		{"index that is no index", func(ti *tinyInstall) { ti.raw["index"] = make([]byte, Align) }, ErrIndexSize,
			ErrCorrupt},
		{"weights longer than the index says", func(ti *tinyInstall) {
			ti.files[WeightsFile] = append(ti.files[WeightsFile], 0)
		}, ErrSize, nil},
		{"tensor missing", tensor(layer+"layer_scalar", func(e *Entry) { e.Name += "x" }), ErrTensorMissing, ErrSchema},
		{"embedding missing", tensor("language_model.model.embed_tokens.weight", func(e *Entry) { e.Name += "x" }),
			ErrTensorMissing, ErrSchema},
		{"final norm missing", tensor("language_model.model.norm.weight", func(e *Entry) { e.Name += "x" }),
			ErrTensorMissing, ErrSchema},
		{"value projection missing in a sliding layer",
			tensor(layer+"self_attn.v_proj.weight", func(e *Entry) { e.Name += "x" }), ErrTensorMissing, ErrSchema},
		{"norm of another dtype", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.DType = FP16 }),
			ErrTensorDType, ErrSchema},
		{"norm of another length", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.Shape[0]++ }),
			ErrTensorShape, ErrSchema},
		{"norm of two axes", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.Shape[1] = 1 }),
			ErrTensorShape, ErrSchema},
		{"norm of another size", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.Weights.Size-- }),
			ErrTensorSize, ErrSchema},
		{"norm with scales", tensor("language_model.model.norm.weight", func(e *Entry) {
			e.Weights.Size, e.Scales = e.Weights.Size-2, Extent{e.Weights.Offset + e.Weights.Size - 2, 2}
		}), ErrTensorSize, ErrSchema},
		{"scalar that is a vector", tensor(layer+"layer_scalar", func(e *Entry) { e.Shape[0] = 2 }), ErrTensorShape,
			ErrSchema},
		{"matrix of another dtype", tensor(layer+"mlp.up_proj.weight", func(e *Entry) { e.DType = BF16 }),
			ErrTensorDType, ErrSchema},
		{"matrix turned around", tensor(layer+"mlp.up_proj.weight", func(e *Entry) {
			e.Shape[0], e.Shape[1] = e.Shape[1], e.Shape[0]
		}), ErrTensorShape, ErrSchema},
		{"matrix without biases", tensor(layer+"mlp.up_proj.weight", func(e *Entry) { e.Biases = Extent{} }),
			ErrTensorSize, ErrSchema},
		{"matrix of other bits", func(ti *tinyInstall) { ti.manifest.Quant.SharedExpert.WeightBits = 8 },
			ErrTensorSize, ErrSchema},
		{"codes at an odd offset", oddOffset(layer + "self_attn.q_proj.weight"), ErrTensorAlign, ErrSchema},
		{"role missing", role(0, 0, "down_biases", nil), ErrRoleMissing, ErrSchema},
		{"role of another dtype", role(0, 0, "up", func(s *SubTensor) { s.DType = "BF16" }), ErrTensorDType, ErrSchema},
		{"role of another shape", role(0, 0, "up", func(s *SubTensor) { s.Shape = []uint32{128, 64} }),
			ErrTensorShape, ErrSchema},
		{"role without bits", role(0, 0, "up", func(s *SubTensor) { s.Bits = nil }), ErrTensorBits, ErrSchema},
		{"scales with bits", role(0, 0, "up_scales", func(s *SubTensor) { s.Bits = &bits }), ErrTensorBits, ErrSchema},
		{"role of another size", role(0, 0, "up", func(s *SubTensor) { s.Size-- }), ErrTensorSize, ErrSchema},
		{"role not aligned to words", func(ti *tinyInstall) {
			role(0, 0, "down_scales", func(s *SubTensor) { s.Offset = 14000 })(ti)
			role(0, 0, "down_biases", func(s *SubTensor) { s.Offset = 15000 })(ti)
			role(0, 0, "down", func(s *SubTensor) { s.Offset += 2 })(ti)
		}, ErrTensorAlign, ErrSchema},
		{"scales at an odd offset", role(0, 0, "down_scales", func(s *SubTensor) { s.Offset = 14001 }),
			ErrTensorAlign, ErrSchema},
		{"an expert laid out differently", role(1, 2, "down_scales", func(s *SubTensor) { s.Offset = 14000 }),
			ErrExpertsDiffer, ErrSchema},
		{"a layer laid out differently", role(2, 0, "down_scales", func(s *SubTensor) { s.Offset = 14000 }),
			ErrExpertsDiffer, ErrSchema},
	} {
		t.Run(c.name, func(t *testing.T) {
			ti := newTiny(t, tinyArch())
			c.change(ti)
			in, err := Open(context.Background(), ti.write(t), OpenOptions{})
			if err == nil {
				in.Close()
			}
			if !errors.Is(err, c.want) || c.class != nil && !errors.Is(err, c.class) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

// oddOffset moves a tensor to an odd offset at the end of the payload.
func oddOffset(name string) func(*tinyInstall) {
	return func(ti *tinyInstall) {
		for i := range ti.index.Entries {
			e := &ti.index.Entries[i]
			if e.Name != name {
				continue
			}
			ti.index.ResidentSize |= 1
			e.Weights.Offset = ti.index.IndexSize + ti.index.ResidentSize
			ti.index.ResidentSize += e.Weights.Size
			ti.files[WeightsFile] = noise(3, int(ti.index.ResidentSize))
		}
	}
}
