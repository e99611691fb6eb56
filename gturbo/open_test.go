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
		if tensor.Bits != want || tensor.DType != e.DType || tensor.Shape[0] != int(e.Shape[0]) {
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
	if x.Stride != 16384 || x.Gate != (AffineRange{0, 4096, 4352, 64, 128, 4}) ||
		x.Down != (AffineRange{9216, 13312, 13568, 128, 64, 4}) {
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
