package install

import (
	"errors"
	"slices"
	"testing"

	"github.com/fieldfare/fieldfare/gturbo"
)

func (r *rig) packOptions(f FS) PackOptions {
	return PackOptions{Options: r.options(f), TextModel: memOutput}
}

// withText returns a file system with the rig's text model.
func (r *rig) withText(t *testing.T) *memFS {
	t.Helper()
	f := newMemFS()
	if _, err := Install(t.Context(), r.options(f)); err != nil {
		t.Fatal(err)
	}
	return f
}

const memPack = "/m/tiny.vision.gturbo"

func TestPackHoldsTheImageTensorsInExecutionOrder(t *testing.T) {
	r := newRig(t)
	f := r.withText(t)
	o := r.packOptions(f)
	o.Output = ""
	if _, err := InstallPack(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	files := f.files(t, memPack)
	if len(files) != 4 {
		t.Errorf("the pack has %d files, want 4", len(files))
	}
	layer := "vision_tower.encoder.layers.0."
	want := []string{
		"vision_tower.patch_embedder.input_proj.weight", "vision_tower.patch_embedder.position_embedding_table",
		layer + "input_layernorm.weight", layer + "mlp.down_proj.linear.weight", layer + "mlp.gate_proj.linear.weight",
		layer + "mlp.up_proj.linear.weight", layer + "post_attention_layernorm.weight",
		layer + "post_feedforward_layernorm.weight", layer + "pre_feedforward_layernorm.weight",
		layer + "self_attn.k_norm.weight", layer + "self_attn.k_proj.linear.weight", layer + "self_attn.o_proj.linear.weight",
		layer + "self_attn.q_norm.weight", layer + "self_attn.q_proj.linear.weight", layer + "self_attn.v_proj.linear.weight",
		"vision_tower.std_bias", "vision_tower.std_scale", "embed_vision.embedding_projection.biases",
		"embed_vision.embedding_projection.scales", "embed_vision.embedding_projection.weight",
	}
	snap, err := LoadSnapshot(t.Context(), r.source, "")
	if err != nil {
		t.Fatal(err)
	}
	_, placed, err := visionPlan(snap, "x", 4096)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range placed {
		got = append(got, p.Name)
		source := payload(snap.Tensors[p.Name])
		if p.Offset%gturbo.Align != 0 || files[packWeights][p.Offset:p.Offset+p.Size] != string(source) {
			t.Errorf("%s at %d does not hold its tensor", p.Name, p.Offset)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
	if last := placed[len(placed)-1]; uint64(len(files[packWeights])) != last.Offset+last.Size {
		t.Errorf("the file has %d bytes, its last tensor ends at %d", len(files[packWeights]), last.Offset+last.Size)
	}
	sameTree(t, r.want, f.files(t, memOutput))
}

// TestPackSurvivesEveryPowerCut is TestEveryPowerCutIsSurvived for the other artifact.
func TestPackSurvivesEveryPowerCut(t *testing.T) {
	r := newRig(t)
	base := r.withText(t)
	base.syncAll()
	clean := base.afterCut(nil)
	options := func(f FS) PackOptions {
		o := r.packOptions(f)
		o.Output = memPack
		return o
	}
	if _, err := InstallPack(t.Context(), options(clean)); err != nil {
		t.Fatal(err)
	}
	want := clean.files(t, memPack)
	for n := 1; n <= clean.calls; n += 3 {
		f := base.afterCut(nil)
		f.before = func(call int, _, _ string) error {
			if call >= n {
				return errCut
			}
			return nil
		}
		_, _ = InstallPack(t.Context(), options(f))
		f = f.afterCut(nil)
		_, err := ResumePack(t.Context(), options(f))
		if errors.Is(err, ErrStateMissing) {
			_, err = InstallPack(t.Context(), options(f))
		}
		if err != nil && !errors.Is(err, ErrExists) {
			t.Fatalf("cut at call %d: %v", n, err)
		}
		sameTree(t, want, f.files(t, memPack))
		if t.Failed() {
			t.Fatalf("cut at call %d", n)
		}
	}
}

// syncAll makes everything durable.
func (f *memFS) syncAll() {
	var walk func(n *node)
	walk = func(n *node) {
		n.durable = slices.Clone(n.data)
		if n.dir {
			n.saved = map[string]*node{}
		}
		for name, child := range n.children {
			n.saved[name] = child
			walk(child)
		}
	}
	walk(f.root)
}

func TestPackIsBoundToItsTextModel(t *testing.T) {
	r := newRig(t)
	f := r.withText(t)
	other := newRig(t)
	other.source.files[indexName] = append(other.source.files[indexName], ' ')
	o := other.packOptions(f)
	o.Output = memPack
	if _, err := InstallPack(t.Context(), o); !errors.Is(err, ErrStateIncompatible) {
		t.Errorf("a pack of another checkpoint: %v", err)
	}
	o = r.packOptions(f)
	o.Output, o.TextModel = memPack, "/m/absent.gturbo"
	if _, err := InstallPack(t.Context(), o); !errors.Is(err, gturbo.ErrPartial) {
		t.Errorf("a pack for no text model: %v", err)
	}
	o = r.packOptions(f)
	o.Output, o.TextModel = "", "/m/tiny"
	if _, err := InstallPack(t.Context(), o); !errors.Is(err, ErrOptions) {
		t.Errorf("a text model of another name: %v", err)
	}
}

func TestRemovePackLeavesTheTextModel(t *testing.T) {
	r := newRig(t)
	f := r.withText(t)
	o := r.packOptions(f)
	o.Output = memPack
	if _, err := InstallPack(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := removePack(f, memOutput); !errors.Is(err, ErrUnsafePath) {
		t.Errorf("removing the text model: %v", err)
	}
	lock, err := f.Lock("/m/.tiny.vision.gturbo.use.lock", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := removePack(f, memPack); !errors.Is(err, ErrBusy) {
		t.Errorf("removing a pack in use: %v", err)
	}
	lock.Close()
	if err := removePack(f, memPack); err != nil {
		t.Fatal(err)
	}
	if left := f.files(t, memPack); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := removePack(f, memPack); !errors.Is(err, ErrStateMissing) {
		t.Errorf("removing it twice: %v", err)
	}
	sameTree(t, r.want, f.files(t, memOutput))
}

// TestPinnedPackIsTheDocumentedOne derives the numbers of the pinned pack from its shapes.
func TestPinnedPackIsTheDocumentedOne(t *testing.T) {
	var shapes []Tensor
	add := func(dtype DType, name string, shape ...int64) {
		shapes = append(shapes, Tensor{Name: name, DType: dtype, Shape: shape})
	}
	add(BF16, "vision_tower.patch_embedder.input_proj.weight", 1152, 768)
	add(BF16, "vision_tower.patch_embedder.position_embedding_table", 2, 10240, 1152)
	for i := range 27 {
		p := "vision_tower.encoder.layers." + string(rune('0'+i/10)) + string(rune('0'+i%10)) + "."
		if i < 10 {
			p = "vision_tower.encoder.layers." + string(rune('0'+i)) + "."
		}
		for _, norm := range []string{
			"input_layernorm", "post_attention_layernorm", "post_feedforward_layernorm", "pre_feedforward_layernorm",
		} {
			add(BF16, p+norm+".weight", 1152)
		}
		add(BF16, p+"mlp.gate_proj.linear.weight", 4304, 1152)
		add(BF16, p+"mlp.up_proj.linear.weight", 4304, 1152)
		add(BF16, p+"mlp.down_proj.linear.weight", 1152, 4304)
		for _, proj := range []string{"q", "k", "v", "o"} {
			add(BF16, p+"self_attn."+proj+"_proj.linear.weight", 1152, 1152)
		}
		add(BF16, p+"self_attn.q_norm.weight", 72)
		add(BF16, p+"self_attn.k_norm.weight", 72)
	}
	add(BF16, "vision_tower.std_bias", 1152)
	add(BF16, "vision_tower.std_scale", 1152)
	add(U32, "embed_vision.embedding_projection.weight", 2816, 144)
	add(BF16, "embed_vision.embedding_projection.scales", 2816, 18)
	add(BF16, "embed_vision.embedding_projection.biases", 2816, 18)

	snap := &Snapshot{IndexSHA256: Pinned.IndexSHA256, Tensors: map[string]Tensor{}, Parsed: &gturbo.SourceConfig{}}
	snap.Parsed.Quantization.Bits = 4
	at := int64(0)
	for _, s := range shapes {
		s.Shard, s.Offset = "s", at
		s.Size, _ = product(s.Shape, s.DType.Bytes())
		at += s.Size
		snap.Tensors[s.Name] = s
	}
	plan, placed, err := visionPlan(snap, "", DefaultChunk)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Files[0].Size != 1_144_373_248 || len(placed) != 358 {
		t.Errorf("%d bytes and %d tensors, want 1144373248 and 358", plan.Files[0].Size, len(placed))
	}
	for position, want := range map[int]struct {
		name   string
		offset uint64
	}{
		1:   {"vision_tower.patch_embedder.position_embedding_table", 1_769_472},
		2:   {"vision_tower.encoder.layers.0.input_layernorm.weight", 48_955_392},
		14:  {"vision_tower.encoder.layers.0.self_attn.v_proj.linear.weight", 48_955_392 + 37_847_040},
		132: {"vision_tower.encoder.layers.10.input_layernorm.weight", 48_955_392 + 10*40_501_248},
		353: {"vision_tower.std_bias", 1_142_489_088},
		357: {"embed_vision.embedding_projection.weight", 1_142_751_232},
	} {
		if got := placed[position]; got.Name != want.name || got.Offset != want.offset {
			t.Errorf("position %d is %s at %d, want %s at %d", position, got.Name, got.Offset, want.name, want.offset)
		}
	}
	delete(snap.Tensors, "vision_tower.std_bias")
	if _, _, err := visionPlan(snap, "", DefaultChunk); !errors.Is(err, ErrTensor) {
		t.Errorf("one tensor short: %v", err)
	}
}
