package gturbo

import (
	"errors"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

func decodeManifest(data []byte) error {
	_, err := DecodeManifest(data)
	return err
}

func TestManifestRejections(t *testing.T) {
	data := fixture(t, "manifest.json")
	record := func(size int, sha string) map[string]any { return map[string]any{"size": size, "sha256": sha} }
	zeros := strings.Repeat("0", 64)
	file := func(path string) change { return set("files", map[string]any{path: record(1, zeros)}) }
	files := func(paths ...string) change {
		all := map[string]any{}
		for _, path := range paths {
			all[path] = record(1, zeros)
		}
		return set("files", all)
	}
	for _, c := range []rejection{
		{"magic of another format", set("magic", "GTURBO-VISION"), ErrNotGTurbo, nil},
		{"magic in lower case", set("magic", "gturbo"), ErrNotGTurbo, nil},
		{"major version 2", set("versionMajor", 2), ErrVersion, nil},
		{"major version 0", set("versionMajor", 0), ErrVersion, nil},
		{"negative minor version", set("versionMinor", -1), ErrVersion, nil},
		{"unknown flag", set("flags/other", false), ErrFlag, nil},
		{"flag that is no boolean", set("flags/turboQuantKV", 0), strictjson.ErrType, ErrCorrupt},
		{"stride not page aligned", set("expertStride", 16385), ErrStride, nil},
		{"stride half a page", set("expertStride", 8192), ErrStride, nil},
		{"stride zero", set("expertStride", 0), ErrStrideZero, ErrCorrupt},
		{"stride negative", set("expertStride", -16384), strictjson.ErrRange, ErrCorrupt},
		{"empty model id", set("modelID", ""), ErrModelID, ErrCorrupt},
		{"no layers", set("numLayers", 0), ErrLayerCount, ErrCorrupt},
		{"layer counts differ", set("numLayers", 2), ErrLayerCount, ErrCorrupt},
		{"arch layer count differs", set("arch/numLayers", 2), ErrLayerCount, ErrCorrupt},
		{"no experts", set("expertsPerLayer", 0), ErrExpertCount, ErrCorrupt},
		{"expert counts differ", set("expertsPerLayer", 3), ErrExpertCount, ErrCorrupt},
		{"arch expert count differs", set("arch/numExperts", 3), ErrExpertCount, ErrCorrupt},
		{"softcap too large for a double", set("arch/finalLogitSoftcap", jsonNumber("1e400")), strictjson.ErrRange,
			ErrCorrupt},
		{"rope theta zero", set("arch/ropeTheta", 0), ErrArchNumber, ErrCorrupt},
		{"full rope theta negative", set("arch/fullRopeTheta", -1), ErrArchNumber, ErrCorrupt},
		{"partial rotary factor above 1", set("arch/partialRotaryFactor", 1.5), ErrArchNumber, ErrCorrupt},
		{"partial rotary factor below 0", set("arch/partialRotaryFactor", -0.1), ErrArchNumber, ErrCorrupt},
		{"more experts chosen than there are", set("arch/topKExperts", 3), ErrTopK, ErrCorrupt},
		{"empty activation", set("arch/hiddenActivation", ""), ErrActivation, ErrCorrupt},
		{"mask too long", set("arch/fullAttentionLayerMask", []int{0, 1}), ErrLayerMask, ErrCorrupt},
		{"mask too short", set("arch/fullAttentionLayerMask", []int{}), ErrLayerMask, ErrCorrupt},
		{"mask of 2", set("arch/fullAttentionLayerMask", []int{2}), ErrLayerMask, ErrCorrupt},
		{"quant bits 0", set("quant/router/weightBits", 0), ErrQuantBits, ErrCorrupt},
		{"quant bits 33", set("quant/router/weightBits", 33), ErrQuantBits, ErrCorrupt},
		{"quant scheme empty", set("quant/router/scheme", ""), ErrQuantName, ErrCorrupt},
		{"quant scale type empty", set("quant/router/scaleType", ""), ErrQuantName, ErrCorrupt},
		{"quant bias type empty", set("quant/router/biasType", ""), ErrQuantName, ErrCorrupt},
		{"quant group size 0", set("quant/router/groupSize", 0), ErrQuantGroup, ErrCorrupt},
		{"file path empty", file(""), ErrPathGrammar, ErrCorrupt},
		{"file path escapes", file("../escape.bin"), ErrPathGrammar, ErrCorrupt},
		{"file path absolute", file("/etc/passwd"), ErrPathGrammar, ErrCorrupt},
		{"file path with a dot", file("packed_experts/./layer_00.bin"), ErrPathGrammar, ErrCorrupt},
		{"file path with two slashes", file("packed_experts//layer_00.bin"), ErrPathGrammar, ErrCorrupt},
		{"file path with a slash at the end", file("packed_experts/"), ErrPathGrammar, ErrCorrupt},
		{"file path with NUL", file("a\x00b"), ErrPathGrammar, ErrCorrupt},
		{"file paths that differ in case", files("a.bin", "A.BIN"), ErrPathDuplicate, ErrCorrupt},
		{"file paths that differ in composition", files("\u00e9.bin", "e\u0301.bin"), ErrPathDuplicate, ErrCorrupt},
		{"file path tokenizer", file("tokenizer"), ErrPathReserved, ErrCorrupt},
		{"file path of the manifest", file("Manifest.json"), ErrPathReserved, ErrCorrupt},
		{"file path of the receipt", file("verified-install.json"), ErrPathReserved, ErrCorrupt},
		{"file path below the manifest", file("manifest.json/x"), ErrPathReserved, ErrCorrupt},
		{"file path below the receipt", file("verified-install.json/x"), ErrPathReserved, ErrCorrupt},
		{"file path that is a directory of another", files("packed_experts", "packed_experts/layout.json"),
			ErrPathPrefix, ErrCorrupt},
		{"file path that is a grandparent of another", files("a", "a/b/c"), ErrPathPrefix, ErrCorrupt},
		{"digest too short", set("files", map[string]any{"x": record(1, zeros[1:])}), ErrDigest, ErrCorrupt},
		{"digest not hex", set("files", map[string]any{"x": record(1, "g"+zeros[1:])}), ErrDigest, ErrCorrupt},
		{"digest with a prefix", set("files", map[string]any{"x": record(1, "sha256:"+zeros[7:])}), ErrDigest,
			ErrCorrupt},
		{"file size negative", set("files", map[string]any{"x": record(-1, zeros)}), strictjson.ErrRange, ErrCorrupt},
		{"file without a size", set("files", map[string]any{"x": map[string]any{"sha256": zeros}}),
			strictjson.ErrMissing, ErrCorrupt},
	} {
		c.run(t, data, decodeManifest)
	}
	for _, d := range new(Arch).dimensions() {
		if d.name != "numLayers" && d.name != "numExperts" {
			for name, value := range map[string]int{" 0": 0, " negative": -1} {
				change := set("arch/"+d.name, value)
				rejection{d.name + name, change, ErrArchDimension, ErrCorrupt}.run(t, data, decodeManifest)
			}
		}
	}
}

// jsonNumber is a number that encoding/json prints as it is written.
type jsonNumber string

func (n jsonNumber) MarshalJSON() ([]byte, error) { return []byte(n), nil }

func TestManifestKeysAreRequired(t *testing.T) {
	var required, optional []string
	required = append(required, manifestKeys.Required...)
	optional = append(optional, manifestKeys.Optional...)
	for _, key := range archKeys.Required {
		required = append(required, "arch/"+key)
	}
	for _, slot := range quantKeys.Required {
		required = append(required, "quant/"+slot)
		for _, key := range slotKeys.Required {
			required = append(required, "quant/"+slot+"/"+key)
		}
	}
	required = append(required, "files/model_weights.bin/size", "files/model_weights.bin/sha256")
	jsonRejections(t, fixture(t, "manifest.json"), required, optional, decodeManifest)
}

func TestManifestAccepts(t *testing.T) {
	data := fixture(t, "manifest.json")
	record := map[string]any{"size": 1, "sha256": strings.Repeat("0", 64)}
	for name, c := range map[string]change{
		"minor version 9": set("versionMinor", 9),
		"unknown keys at every level": changes(
			set("x", 1), set("arch/x", nil), set("quant/x", "y"), set("quant/router/x", 1)),
		"no flags at all":              set("flags", map[string]any{}),
		"no files":                     set("files", map[string]any{}),
		"digests in upper case":        set("files/model_weights.bin/sha256", strings.Repeat("A", 64)),
		"quantization in lower case":   set("quant/router/scaleType", "bf16"),
		"files below the tokenizer":    set("files", map[string]any{"tokenizer/x": record}),
		"layer files of other names":   set("files/experts_a.bin", record),
		"a softcap that is an integer": set("arch/finalLogitSoftcap", 30),
	} {
		t.Run(name, func(t *testing.T) {
			if err := decodeManifest(mutate(t, data, c)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestManifestIsCheckedInOrder(t *testing.T) {
	data := fixture(t, "manifest.json")
	all := []struct {
		change
		want error
	}{
		{set("magic", "x"), ErrNotGTurbo}, {set("versionMajor", 2), ErrVersion}, {set("flags/x", true), ErrFlag},
		{set("expertStride", 1), ErrStride}, {set("modelID", ""), ErrModelID},
	}
	for i := range all {
		broken := changes()
		for _, c := range all[i:] {
			broken = changes(broken, c.change)
		}
		if err := decodeManifest(mutate(t, data, broken)); !errors.Is(err, all[i].want) {
			t.Errorf("with mistakes from %v on: got %v", all[i].want, err)
		}
	}
}

func TestManifestCap(t *testing.T) {
	data := fixture(t, "manifest.json")
	full := append(data, []byte(strings.Repeat(" ", MaxManifestSize-len(data)))...)
	if err := decodeManifest(full); err != nil {
		t.Errorf("padded to the cap: %v", err)
	}
	if err := decodeManifest(append(full, ' ')); !errors.Is(err, ErrMetadataCap) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestManifestDuplicateKeysAreRejected(t *testing.T) {
	text := string(fixture(t, "manifest.json"))
	for name, broken := range map[string]string{
		"top level": strings.Replace(text, `"magic"`, `"magic" : "GTURBO", "magic"`, 1),
		"arch":      strings.Replace(text, `"numHeads"`, `"numHeads" : 4, "numHeads"`, 1),
		"flags":     strings.Replace(text, `"turboQuantKV"`, `"turboQuantKV" : true, "turboQuantKV"`, 1),
		"files": strings.Replace(text, `"model_weights.bin"`,
			`"model_weights.bin" : {"size":1,"sha256":""}, "model_weights.bin"`, 1),
		"unknown": strings.Replace(text, `"magic"`, `"x" : 1, "x" : 1, "magic"`, 1),
	} {
		err := decodeManifest([]byte(broken))
		if !errors.Is(err, strictjson.ErrDuplicate) || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncodeRefusesWhatDecodeRefuses(t *testing.T) {
	m, err := DecodeManifest(fixture(t, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	m.Arch.TopKExperts = 9
	if _, err := m.Encode(); !errors.Is(err, ErrTopK) {
		t.Errorf("manifest: %v", err)
	}
	l, err := DecodeLayout(fixture(t, "layout.json"))
	if err != nil {
		t.Fatal(err)
	}
	l.Layers[0].Experts[1].Offset++
	if _, err := l.Encode(); !errors.Is(err, ErrLayoutOffset) {
		t.Errorf("layout: %v", err)
	}
}

func TestRunnableManifest(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Manifest)
		want   error
	}{
		{"quantized KV cache", func(m *Manifest) { m.Flags[FlagTurboQuantKV] = true }, ErrTurboQuantKV},
		{"no quantization", func(m *Manifest) { m.Quant = nil }, ErrQuantMissing},
		{"embedding of 8 bits", func(m *Manifest) { m.Quant.Embedding.WeightBits = 8 }, ErrQuantScheme},
		{"attention of 8 bits", func(m *Manifest) { m.Quant.Attention.WeightBits = 8 }, ErrQuantScheme},
		{"router of 4 bits", func(m *Manifest) { m.Quant.Router.WeightBits = 4 }, ErrQuantScheme},
		{"shared expert of 6 bits", func(m *Manifest) { m.Quant.SharedExpert.WeightBits = 6 }, ErrQuantScheme},
		{"routed expert of 8 bits", func(m *Manifest) { m.Quant.RoutedExpert.WeightBits = 8 }, ErrQuantScheme},
		{"another scheme", func(m *Manifest) { m.Quant.Router.Scheme = "mxfp4" }, ErrQuantScheme},
		{"scales of another type", func(m *Manifest) { m.Quant.Router.ScaleType = "FP16" }, ErrQuantScheme},
		{"biases of another type", func(m *Manifest) { m.Quant.Router.BiasType = "FP16" }, ErrQuantScheme},
		{"another group size", func(m *Manifest) { m.Quant.Router.GroupSize = 32 }, ErrQuantScheme},
		{"no weights", func(m *Manifest) { delete(m.Files, WeightsFile) }, ErrMissingFile},
		{"no layout", func(m *Manifest) { delete(m.Files, LayoutFile) }, ErrMissingFile},
		{"shared expert of 8 bits is read", func(m *Manifest) { m.Quant.SharedExpert.WeightBits = 8 }, nil},
		{"names in any case are read", func(m *Manifest) {
			m.Quant.Router.Scheme, m.Quant.Router.BiasType = "AFFINE", "bf16"
		}, nil},
		{"the ANE flag is nobody's business", func(m *Manifest) { m.Flags[FlagANESharedExpert] = true }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := DecodeManifest(fixture(t, "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			c.change(m)
			if err := m.CheckRunnable(); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}
