package gturbo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func open(t testing.TB, dir string, opts OpenOptions) *Install {
	t.Helper()
	in, err := Open(context.Background(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

func TestOpenGivesViewsOfTheWeights(t *testing.T) {
	ti := newTiny(t, tinyArch())
	in := open(t, ti.write(t), OpenOptions{})
	payload := ti.files[WeightsFile]
	if !bytes.Equal(in.Region(), payload) {
		t.Fatal("the region is not the payload")
	}
	odd := 0
	for _, e := range ti.index.Entries {
		tensor, err := in.Tensor(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []struct {
			Extent
			got []byte
		}{{e.Weights, tensor.Data}, {e.Scales, tensor.Scales}, {e.Biases, tensor.Biases}} {
			want := payload[:0]
			if part.Size > 0 {
				lo := part.Offset - ti.index.IndexSize
				want = payload[lo : lo+part.Size]
			}
			if !bytes.Equal(part.got, want) || cap(part.got) != len(part.got) {
				t.Errorf("%s: %d bytes at %d differ", e.Name, part.Size, part.Offset)
			}
		}
		if e.DType == U32 && e.Weights.Offset%4 != 0 {
			odd++
		}
		want := map[bool]int{true: 4}[e.DType == U32]
		if strings.Contains(e.Name, "router.proj") {
			want = 8
		}
		if tensor.Bits != want || tensor.DType != e.DType || len(tensor.Shape) == 0 || tensor.Shape[0] != int(e.Shape[0]) {
			t.Errorf("%s: %d bits, want %d; %s, shape %v", e.Name, tensor.Bits, want, tensor.DType, tensor.Shape)
		}
	}
	if odd == 0 {
		t.Error("the install has no codes at 2 mod 4, as odd layers of real ones do")
	}
	if _, err := in.Tensor("language_model.model.absent"); !errors.Is(err, ErrTensorMissing) {
		t.Errorf("absent tensor: %v", err)
	}
}

func TestOpenTellsWhatTheInstallSays(t *testing.T) {
	ti := newTiny(t, tinyArch())
	dir := ti.write(t)
	var done, total int64
	in := open(t, dir, OpenOptions{Progress: func(d, n int64) {
		if d <= done {
			t.Errorf("progress %d after %d", d, done)
		}
		done, total = d, n
	}})
	hashed := int64(ti.manifest.Files[WeightsFile].Size + ti.manifest.Files[LayoutFile].Size)
	if done != hashed || total != hashed {
		t.Errorf("progress ended at %d of %d, want %d", done, total, hashed)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if in.ManifestSHA256() != SHA256(manifest) || in.Path() != dir || in.Manifest().ModelID != "tiny/model" {
		t.Errorf("%s %s %s", in.ManifestSHA256(), in.Path(), in.Manifest().ModelID)
	}
	if in.Source().MaxPositionEmbeddings != 4096 || in.Source().EOS[1] != 5 {
		t.Errorf("source %+v", in.Source())
	}
	x := in.Experts()
	if x.Stride != 16384 || x.Gate != (AffineRange{0, 4096, 4352, 64, 128, 4}) || x.Down.Rows != 128 || x.Down.Columns != 64 {
		t.Errorf("experts %+v", x)
	}
	if got := in.ExpertOffset(2, 3); got != 3*16384 {
		t.Errorf("expert 3 lies at %d", got)
	}
	if text, err := in.TokenizerFile("tokenizer.json"); err != nil || string(text) != `{"model":{}}` {
		t.Errorf("tokenizer.json: %q, %v", text, err)
	}
	if _, err := in.TokenizerFile("chat_template.jinja"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent template: %v", err)
	}
	if _, err := in.TokenizerFile("../manifest.json"); !errors.Is(err, ErrPathGrammar) {
		t.Errorf("a name of no tokenizer file: %v", err)
	}
}

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
		{"manifest above its cap", func(ti *tinyInstall) { ti.raw[ManifestFile] = make([]byte, MaxManifestSize+1) }, ErrMetadataCap, nil},
		{"quantized KV cache", func(ti *tinyInstall) { ti.manifest.Flags[FlagTurboQuantKV] = true }, ErrTurboQuantKV, ErrUnsupported},
		{"no quantization", func(ti *tinyInstall) { ti.manifest.Quant = nil }, ErrQuantMissing, ErrCorrupt},
		{"config of another model", func(ti *tinyInstall) {
			ti.config = strings.Replace(ti.config, `"sliding_window": 8`, `"sliding_window": 9`, 1)
		}, ErrArch, nil},
		{"config with a feature we do not run", func(ti *tinyInstall) {
			ti.config = strings.Replace(ti.config, `"attention_bias": false`, `"attention_bias": true`, 1)
		}, ErrAttentionBias, ErrUnsupported},
		{"layout above its cap", func(ti *tinyInstall) { ti.raw[LayoutFile] = make([]byte, MaxLayoutSize+1) }, ErrMetadataCap, nil},
		{"layout that is no JSON", func(ti *tinyInstall) { ti.raw[LayoutFile] = []byte("[]") }, ErrCorrupt, nil},
		{"layout of another stride", func(ti *tinyInstall) { ti.manifest.ExpertStride = 2 * Align }, ErrLayoutManifest, ErrCorrupt},
		{"layer file not listed", func(ti *tinyInstall) { ti.layout.Layers[1].File = "other.bin" }, ErrLayoutLayerFile, ErrCorrupt},
		{"index that is no index", func(ti *tinyInstall) { ti.raw["index"] = make([]byte, Align) }, ErrIndexSize, ErrCorrupt},
		{"weights longer than the index says", func(ti *tinyInstall) {
			ti.files[WeightsFile] = append(ti.files[WeightsFile], 0)
		}, ErrSize, nil},
		{"tensor missing", tensor(layer+"layer_scalar", func(e *Entry) { e.Name += "x" }), ErrTensorMissing, ErrSchema},
		{"embedding missing", tensor("language_model.model.embed_tokens.weight", func(e *Entry) { e.Name += "x" }), ErrTensorMissing, ErrSchema},
		{"final norm missing", tensor("language_model.model.norm.weight", func(e *Entry) { e.Name += "x" }), ErrTensorMissing, ErrSchema},
		{"value projection missing in a sliding layer", tensor(layer+"self_attn.v_proj.weight", func(e *Entry) { e.Name += "x" }), ErrTensorMissing, ErrSchema},
		{"norm of another dtype", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.DType = FP16 }), ErrTensorDType, ErrSchema},
		{"norm of another length", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.Shape[0]++ }), ErrTensorShape, ErrSchema},
		{"norm of two axes", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.Shape[1] = 1 }), ErrTensorShape, ErrSchema},
		{"norm of another size", tensor(layer+"input_layernorm.weight", func(e *Entry) { e.Weights.Size-- }), ErrTensorSize, ErrSchema},
		{"norm with scales", tensor("language_model.model.norm.weight", func(e *Entry) {
			e.Weights.Size, e.Scales = e.Weights.Size-2, Extent{e.Weights.Offset + e.Weights.Size - 2, 2}
		}), ErrTensorSize, ErrSchema},
		{"scalar that is a vector", tensor(layer+"layer_scalar", func(e *Entry) { e.Shape[0] = 2 }), ErrTensorShape, ErrSchema},
		{"matrix of another dtype", tensor(layer+"mlp.up_proj.weight", func(e *Entry) { e.DType = BF16 }), ErrTensorDType, ErrSchema},
		{"matrix turned around", tensor(layer+"mlp.up_proj.weight", func(e *Entry) {
			e.Shape[0], e.Shape[1] = e.Shape[1], e.Shape[0]
		}), ErrTensorShape, ErrSchema},
		{"matrix without biases", tensor(layer+"mlp.up_proj.weight", func(e *Entry) { e.Biases = Extent{} }), ErrTensorSize, ErrSchema},
		{"matrix of other bits", func(ti *tinyInstall) { ti.manifest.Quant.SharedExpert.WeightBits = 8 }, ErrTensorSize, ErrSchema},
		{"codes at an odd offset", oddOffset(layer + "self_attn.q_proj.weight"), ErrTensorAlign, ErrSchema},
		{"role missing", role(0, 0, "down_biases", nil), ErrRoleMissing, ErrSchema},
		{"role of another dtype", role(0, 0, "up", func(s *SubTensor) { s.DType = "BF16" }), ErrTensorDType, ErrSchema},
		{"role of another shape", role(0, 0, "up", func(s *SubTensor) { s.Shape = []uint32{128, 64} }), ErrTensorShape, ErrSchema},
		{"role without bits", role(0, 0, "up", func(s *SubTensor) { s.Bits = nil }), ErrTensorBits, ErrSchema},
		{"scales with bits", role(0, 0, "up_scales", func(s *SubTensor) { s.Bits = &bits }), ErrTensorBits, ErrSchema},
		{"role of another size", role(0, 0, "up", func(s *SubTensor) { s.Size-- }), ErrTensorSize, ErrSchema},
		{"role not aligned to words", func(ti *tinyInstall) {
			role(0, 0, "down_scales", func(s *SubTensor) { s.Offset = 14000 })(ti)
			role(0, 0, "down_biases", func(s *SubTensor) { s.Offset = 15000 })(ti)
			role(0, 0, "down", func(s *SubTensor) { s.Offset += 2 })(ti)
		}, ErrTensorAlign, ErrSchema},
		{"scales at an odd offset", role(0, 0, "down_scales", func(s *SubTensor) { s.Offset = 14001 }), ErrTensorAlign, ErrSchema},
		{"an expert laid out differently", role(1, 2, "down_scales", func(s *SubTensor) { s.Offset = 14000 }), ErrExpertsDiffer, ErrSchema},
		{"a layer laid out differently", role(2, 0, "down_scales", func(s *SubTensor) { s.Offset = 14000 }), ErrExpertsDiffer, ErrSchema},
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

func TestOpenAcceptsEightBitCodesAtOddOffsets(t *testing.T) {
	ti := newTiny(t, tinyArch())
	oddOffset("language_model.model.layers.1.router.proj.weight")(ti)
	open(t, ti.write(t), OpenOptions{})
}

func TestOpenAcceptsEightBitSharedExperts(t *testing.T) {
	ti := newTiny(t, tinyArch())
	ti.manifest.Quant.SharedExpert = AffineSlot(8)
	index, err := PlanIndex(tinyEntries(tinyArch(), ti.manifest.Quant))
	if err != nil {
		t.Fatal(err)
	}
	ti.index, ti.files[WeightsFile] = index, noise(1, int(index.ResidentSize))
	in := open(t, ti.write(t), OpenOptions{})
	if tensor, err := in.Tensor("language_model.model.layers.0.mlp.up_proj.weight"); err != nil || tensor.Bits != 8 {
		t.Errorf("%d bits, %v", tensor.Bits, err)
	}
}

func TestOpenIgnoresExtraTensorsAndFiles(t *testing.T) {
	ti := newTiny(t, tinyArch())
	extra := Entry{
		Name: "language_model.model.layers.2.self_attn.v_proj.weight", DType: FP32, Shape: [4]uint32{1},
		Weights: Extent{ti.index.IndexSize + ti.index.ResidentSize, 4},
	}
	ti.index.Entries = append(ti.index.Entries, extra)
	ti.index.ResidentSize += 4
	ti.files[WeightsFile] = append(ti.files[WeightsFile], 0, 0, 0, 0)
	dir := ti.write(t)
	put(t, dir, "vision/weights.bin", []byte("x"))
	put(t, dir, "packed_experts/notes.txt", []byte("x"))
	open(t, dir, OpenOptions{})
}

func TestOpenWithoutManifestIsPartial(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	if err := os.Remove(filepath.Join(dir, ManifestFile)); err != nil {
		t.Fatal(err)
	}
	for _, trust := range []bool{false, true} {
		if _, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: trust}); !errors.Is(err, ErrPartial) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := Open(context.Background(), dir+"x", OpenOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

func TestOpenNamesDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(path string) error
		file   string
		kind   error
		lo     int64 // -1: from the end
		text   string
	}{
		{"weights flipped", flip(20000), WeightsFile, ErrChecksum, 0, "checksum mismatch"},
		{"index flipped", flip(100), WeightsFile, ErrChecksum, 0, "checksum mismatch"},
		{"weights short", cut(12), WeightsFile, ErrSize, -12, "is 12 bytes short"},
		{"weights short by one", cut(1), WeightsFile, ErrSize, -1, "is 1 byte short"},
		{"weights gone", os.Remove, WeightsFile, ErrMissingFile, 0, "is missing"},
		{"layout flipped", flip(3), LayoutFile, ErrChecksum, 0, "checksum mismatch"},
		{"layout gone", os.Remove, LayoutFile, ErrMissingFile, 0, "is missing"},
		{"weights are a link", relink, WeightsFile, ErrSymlink, 0, "symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ti := newTiny(t, tinyArch())
			dir := ti.write(t)
			if err := c.damage(filepath.Join(dir, c.file)); err != nil {
				t.Fatal(err)
			}
			_, err := Open(context.Background(), dir, OpenOptions{})
			var damage *DamageError
			if !errors.As(err, &damage) || !errors.Is(err, c.kind) || len(damage.Damages) != 1 {
				t.Fatalf("got %v", err)
			}
			size := int64(ti.manifest.Files[c.file].Size)
			lo := c.lo
			if lo < 0 {
				lo += size
			}
			d := damage.Damages[0]
			if d.File != c.file || d.Lo != lo || d.Hi != size || damage.Install != dir {
				t.Errorf("%+v", d)
			}
			if !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("message: %v", err)
			}
		})
	}
}

func flip(offset int64) func(string) error {
	return func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[offset] ^= 1
		return os.WriteFile(path, data, 0o644)
	}
}

func cut(n int64) func(string) error {
	return func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()-n)
	}
}

// relink moves a file aside and leaves a symbolic link to it.
func relink(path string) error {
	if err := os.Rename(path, path+".real"); err != nil {
		return err
	}
	return os.Symlink(filepath.Base(path)+".real", path)
}

func TestNoSymlinkBelowTheRootIsFollowed(t *testing.T) {
	for _, trust := range []bool{false, true} {
		for _, name := range []string{
			ManifestFile, ReceiptFile, WeightsFile, LayoutFile, ExpertsDir, "packed_experts/layer_01.bin",
			TokenizerDir, "tokenizer/config.json",
		} {
			dir := newTiny(t, tinyArch()).write(t)
			if err := relink(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			in, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: trust})
			if name == "packed_experts/layer_01.bin" && !trust {
				if err != nil {
					t.Fatal(err)
				}
				_, err = in.OpenLayer(1)
				in.Close()
			} else if name == ReceiptFile && !trust {
				if err != nil {
					t.Fatalf("a receipt that nobody asked for: %v", err)
				}
				in.Close()
				continue
			}
			if !errors.Is(err, ErrSymlink) || !errors.Is(err, ErrUnsafePath) {
				t.Errorf("%s, trusting %t: %v", name, trust, err)
			}
			if name == ReceiptFile && !errors.Is(err, ErrReceipt) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestOpenThroughASymlink(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	other := newTiny(t, tinyArch()).write(t)
	alias := filepath.Join(t.TempDir(), "alias.gturbo")
	link(t, dir, alias)
	in := open(t, alias, OpenOptions{})
	if err := os.Remove(alias); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(other, "packed_experts", "layer_00.bin")); err != nil {
		t.Fatal(err)
	}
	link(t, other, alias)
	f, err := in.OpenLayer(0)
	if err != nil {
		t.Fatalf("the re-pointed link switched the install: %v", err)
	}
	f.Close()
}

func TestTrustedReceipt(t *testing.T) {
	edit := func(change func(*Receipt)) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, ReceiptFile))
			if err != nil {
				t.Fatal(err)
			}
			c, err := DecodeReceipt(data)
			if err != nil {
				t.Fatal(err)
			}
			change(c)
			if data, err = c.Encode(); err != nil {
				t.Fatal(err)
			}
			put(t, dir, ReceiptFile, data)
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   error
		detail string
	}{
		{"missing", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, ReceiptFile)) }, fs.ErrNotExist, ""},
		{"above the cap", func(t *testing.T, dir string) {
			put(t, dir, ReceiptFile, make([]byte, MaxReceiptSize+1))
		}, ErrMetadataCap, "metadata cap"},
		{"not JSON", func(t *testing.T, dir string) { put(t, dir, ReceiptFile, []byte("{}")) }, ErrReceipt, ""},
		{"of another manifest", edit(func(c *Receipt) { c.ManifestSHA256 = SHA256(nil) }), ErrReceiptManifest, "manifest SHA mismatch"},
		{"of another path", edit(func(c *Receipt) { c.ModelDirectoryPath += "2" }), ErrReceiptPath, "model directory mismatch"},
		{"of fewer files", edit(func(c *Receipt) { delete(c.Files, WeightsFile) }), ErrReceiptFiles, "file set mismatch"},
		{"of another digest", edit(func(c *Receipt) {
			c.Files[WeightsFile] = FileRecord{c.Files[WeightsFile].Size, SHA256(nil)}
		}), ErrReceiptRecord, WeightsFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := newTiny(t, tinyArch()).write(t)
			c.change(t, dir)
			_, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true})
			if !errors.Is(err, c.want) || !errors.Is(err, ErrReceipt) || !strings.Contains(err.Error(), c.detail) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			open(t, dir, OpenOptions{}) // the default policy needs none
		})
	}
}

func TestTrustedReceiptIsBoundToItsPath(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	alias := filepath.Join(t.TempDir(), "alias.gturbo")
	link(t, dir, alias)
	if _, err := Open(context.Background(), alias, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrReceiptPath) {
		t.Errorf("through an alias: %v", err)
	}
	open(t, dir+"/./", OpenOptions{TrustReceipt: true})
}

// The binding is checked before the manifest is trusted: a manifest that does not even decode is reported as one that
// the receipt was not made for.
func TestTrustedReceiptComesBeforeTheManifest(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	put(t, dir, ManifestFile, []byte("garbage"))
	if _, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrReceiptManifest) {
		t.Errorf("got %v", err)
	}
}

func TestTrustedReceiptStillHashesWeightsAndLayout(t *testing.T) {
	for _, name := range []string{WeightsFile, LayoutFile} {
		dir := newTiny(t, tinyArch()).write(t)
		if err := flip(50)(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrChecksum) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTrustedReceiptChecksLayerSizesAtOnce(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	if err := cut(1)(filepath.Join(dir, "packed_experts", "layer_02.bin")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), dir, OpenOptions{TrustReceipt: true}); !errors.Is(err, ErrSize) {
		t.Errorf("trusting: %v", err)
	}
	in := open(t, dir, OpenOptions{})
	if _, err := in.OpenLayer(2); !errors.Is(err, ErrSize) {
		t.Errorf("hashing: %v", err)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	dir := newTiny(t, tinyArch()).write(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, dir, OpenOptions{}); err != context.Canceled {
		t.Errorf("open: %v", err)
	}
	if _, err := Verify(ctx, dir, VerifyOptions{}); err != context.Canceled {
		t.Errorf("verify: %v", err)
	}
}

func TestOpenKeepsTheWeightsOutOfTheHeap(t *testing.T) {
	a := tinyArch()
	a.VocabSize = 200_000 // 13 MB of codes
	dir := newTiny(t, a).write(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	in := open(t, dir, OpenOptions{})
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 3<<20 || len(in.Region()) < 13<<20 {
		t.Errorf("opening allocated %d bytes for a region of %d", grown, len(in.Region()))
	}
}
