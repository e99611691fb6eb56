package gturbo

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

func decodeLayout(data []byte) error {
	_, err := DecodeLayout(data)
	return err
}

// twoLayers is a layout document of two layers and two experts.
func twoLayers(t testing.TB) []byte {
	a := tinyArch()
	a.NumLayers, a.NumExperts, a.FullAttentionLayerMask = 2, 2, []int{0, 1}
	data, err := tinyLayout(a).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLayoutRejections(t *testing.T) {
	data := twoLayers(t)
	const first, second = "layers/0/experts/0/", "layers/0/experts/1/"
	const gate = first + "tensors/gate/"
	for _, c := range []rejection{
		{"stride zero", set("expertStride", 0), ErrLayoutStride, nil},
		{"stride not page aligned", set("expertStride", 16383), ErrLayoutStride, nil},
		{"no layers", set("numLayers", 0), ErrLayoutCount, nil},
		{"negative experts", set("expertsPerLayer", -1), ErrLayoutCount, nil},
		{"fewer layers than stated", set("numLayers", 3), ErrLayoutLayers, nil},
		{"more layers than stated", set("numLayers", 1), ErrLayoutLayers, nil},
		{"layer number out of range", set("layers/1/layer", 2), ErrLayoutLayerID, nil},
		{"layer number negative", set("layers/1/layer", -1), ErrLayoutLayerID, nil},
		{"layer number twice", set("layers/1/layer", 0), ErrLayoutLayerID, nil},
		{"file name empty", set("layers/0/file", ""), ErrLayoutFileName, ErrPathGrammar},
		{"file name with a slash", set("layers/0/file", "a/b.bin"), ErrLayoutFileName, ErrPathGrammar},
		{"file name of the parent", set("layers/0/file", ".."), ErrLayoutFileName, ErrPathGrammar},
		{"file name with NUL", set("layers/0/file", "a\x00"), ErrLayoutFileName, ErrPathGrammar},
		{"file named like the layout", set("layers/0/file", "Layout.JSON"), ErrLayoutFileReserved, nil},
		{"file named twice", set("layers/0/file", "LAYER_01.bin"), ErrLayoutFileTwice, nil},
		{"fewer experts than stated", set("expertsPerLayer", 3), ErrLayoutExperts, nil},
		{"more experts than stated", set("expertsPerLayer", 1), ErrLayoutExperts, nil},
		{"expert id on one and not on the other", remove(second + "expert"), ErrLayoutExpertMixed, nil},
		{"expert id twice", set(second+"expert", 0), ErrLayoutExpertID, nil},
		{"expert id out of range", set(second+"expert", 2), ErrLayoutExpertID, nil},
		{"expert id negative", set(second+"expert", -1), ErrLayoutExpertID, nil},
		{"rank twice", set(second+"physicalRank", 0), ErrLayoutRank, nil},
		{"rank out of range", set(second+"physicalRank", 2), ErrLayoutRank, nil},
		{"rank negative", set(second+"physicalRank", -1), ErrLayoutRank, nil},
		{"offset of another rank", set(second+"offset", 0), ErrLayoutOffset, nil},
		{"offset times stride overflows", changes(set("expertStride", jsonNumber("9223372036854759424")),
			set(first+"size", jsonNumber("9223372036854759424"))), ErrOverflow, nil},
		{"expert smaller than the stride", set(first+"size", 16383), ErrLayoutExpertSize, nil},
		{"role without a name", set(first+"tensors/", map[string]any{
			"offset": 0, "size": 1, "dtype": "U32", "shape": []int{1},
		}), ErrLayoutRole, nil},
		{"tensor empty", set(gate+"size", 0), ErrLayoutTensorSize, nil},
		{"tensor beyond its expert", set(gate+"offset", 16384), ErrLayoutTensorSize, nil},
		{"tensor whose end overflows", set(gate+"offset", jsonNumber("18446744073709551615")), ErrLayoutTensorSize,
			nil},
		{"tensor dtype in lower case", set(gate+"dtype", "u32"), ErrLayoutTensorDType, nil},
		{"tensor dtype unknown", set(gate+"dtype", "F32"), ErrLayoutTensorDType, nil},
		{"tensor shape empty", set(gate+"shape", []int{}), ErrLayoutTensorShape, nil},
		{"tensor shape with a zero", set(gate+"shape", []int{8, 0}), ErrLayoutTensorShape, nil},
		{"tensor dimension beyond 32 bits", set(gate+"shape", []int{1 << 32}), strictjson.ErrRange, nil},
		{"tensor bits 0", set(gate+"bits", 0), ErrLayoutTensorBits, nil},
		{"tensor bits 33", set(gate+"bits", 33), ErrLayoutTensorBits, nil},
		{"tensors overlap", set(first+"tensors/up/offset", 1), ErrLayoutTensorOverlap, nil},
		{"mistake in the last expert", set("layers/1/experts/1/tensors/gate/bits", 0), ErrLayoutTensorBits, nil},
	} {
		if c.class == nil {
			c.class = ErrCorrupt
		}
		c.run(t, data, decodeLayout)
	}
}

func TestLayoutKeysAreRequired(t *testing.T) {
	var required []string
	add := func(prefix string, keys []string) {
		for _, key := range keys {
			required = append(required, prefix+key)
		}
	}
	add("", layoutKeys.Required)
	add("layers/1/", layerKeys.Required)
	add("layers/1/experts/1/", expertKeys.Required)
	add("layers/1/experts/1/tensors/down/", tensorKeys.Required)
	jsonRejections(t, fixtureWithRanks(t), required, []string{"layers/1/experts/1/physicalRank"}, decodeLayout)
	data := mutate(t, twoLayers(t), set("layers/1/experts/1/tensors/down/bits", nil))
	if err := decodeLayout(data); err != nil {
		t.Errorf("bits null: %v", err)
	}
}

func fixtureWithRanks(t testing.TB) []byte {
	return mutate(t, twoLayers(t), set("layers/1/experts/1/physicalRank", 1))
}

func TestLayoutHonoursPermutedRanksAndOrder(t *testing.T) {
	l := tinyLayout(tinyArch())
	experts := l.Layers[1].Experts
	r := rand.New(rand.NewPCG(1, 2))
	ranks := r.Perm(len(experts))
	for i := range experts {
		rank := ranks[i]
		experts[i].PhysicalRank, experts[i].Offset = &rank, uint64(rank)*l.ExpertStride
	}
	r.Shuffle(len(experts), func(i, j int) { experts[i], experts[j] = experts[j], experts[i] })
	l.Layers[0], l.Layers[2] = l.Layers[2], l.Layers[0]
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeLayout(data)
	if err != nil {
		t.Fatal(err)
	}
	for layer := range got.Layers {
		for e := range got.Layers[layer].Experts {
			want := e
			if layer == 1 {
				want = ranks[e]
			}
			if offset := got.Offset(LayerID(layer), ExpertID(e)); offset != int64(want)*int64(l.ExpertStride) {
				t.Errorf("layer %d expert %d lies at %d, want rank %d", layer, e, offset, want)
			}
		}
	}
	if name := got.LayerFile(2); name != "packed_experts/layer_02.bin" {
		t.Errorf("layer 2 is in %s", name)
	}
}

func TestLayoutWithoutIDsNumbersByPosition(t *testing.T) {
	data := mutate(t, twoLayers(t), changes(
		remove("layers/0/experts/0/expert"), remove("layers/0/experts/1/expert"),
		set("layers/0/experts/0/physicalRank", 1), set("layers/0/experts/0/offset", 49152),
		set("layers/0/experts/1/physicalRank", 0), set("layers/0/experts/1/offset", 0),
	))
	data = []byte(strings.Replace(string(data), "49152", "16384", 1))
	l, err := DecodeLayout(data)
	if err != nil {
		t.Fatal(err)
	}
	if l.Offset(0, 0) != 16384 || l.Offset(0, 1) != 0 {
		t.Errorf("offsets %d, %d", l.Offset(0, 0), l.Offset(0, 1))
	}
}

func TestLayoutAgainstManifest(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Manifest)
		want   error
	}{
		{"layer counts differ", func(m *Manifest) { m.NumLayers++ }, ErrLayoutManifest},
		{"expert counts differ", func(m *Manifest) { m.ExpertsPerLayer-- }, ErrLayoutManifest},
		{"strides differ", func(m *Manifest) { m.ExpertStride += Align }, ErrLayoutManifest},
		{"layer file not listed", func(m *Manifest) { delete(m.Files, "packed_experts/layer_00.bin") },
			ErrLayoutLayerFile},
		{"layer file listed under another spelling", func(m *Manifest) {
			m.Files["packed_experts/./layer_00.bin"] = m.Files["packed_experts/layer_00.bin"]
			delete(m.Files, "packed_experts/layer_00.bin")
		}, ErrLayoutLayerFile},
		{"layer file of another size", func(m *Manifest) {
			m.Files["packed_experts/layer_00.bin"] = FileRecord{Size: 32767}
		}, ErrLayoutLayerFile},
		{"a match", func(*Manifest) {}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := DecodeManifest(fixture(t, "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := DecodeLayout(fixture(t, "layout.json"))
			if err != nil {
				t.Fatal(err)
			}
			c.change(m)
			if err := l.CheckManifest(m); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestLayoutCap(t *testing.T) {
	data := fixture(t, "layout.json")
	full := append(data, []byte(strings.Repeat("\n", MaxLayoutSize-len(data)))...)
	if err := decodeLayout(full); err != nil {
		t.Errorf("padded to the cap: %v", err)
	}
	if err := decodeLayout(append(full, ' ')); !errors.Is(err, ErrMetadataCap) {
		t.Errorf("one byte more: %v", err)
	}
}
