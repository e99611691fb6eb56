package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// droppedPrefixes begin the names of tensors that a text install leaves out.
var droppedPrefixes = []string{"vision_tower.", "embed_vision.", "audio_tower."}

// Receipt is what the receipt of an install records beside hashes.
type Receipt struct {
	Path string    // the install's absolute path as it was asked for
	Time time.Time // of the verification
}

// toolVersion names this program in receipts.
const toolVersion = "fieldfare install"

// textPlanner sorts the tensors of a checkpoint into the files of a text install.
type textPlanner struct {
	snap     *Snapshot
	resident []resident
	layers   []experts
}

// TextArtifact plans the text model of a checkpoint: resident weights, packed experts, tokenizer files, and the
// documents that describe them. It reads nothing but the snapshot, and it refuses a checkpoint that no reader of the
// format would load.
func TextArtifact(snap *Snapshot, chunk int64, receipt Receipt) (*Artifact, error) {
	p := &textPlanner{snap: snap, layers: make([]experts, snap.Parsed.Arch.NumLayers)}
	for _, name := range slices.Sorted(maps.Keys(snap.Tensors)) {
		if err := p.classify(snap.Tensors[name]); err != nil {
			return nil, err
		}
	}
	index, err := residentIndex(p.resident)
	if err != nil {
		return nil, err
	}
	head, err := index.Encode()
	if err != nil {
		return nil, err
	}
	layout, pieces, err := p.layout()
	if err != nil {
		return nil, err
	}
	if err := layout.Check(); err != nil {
		return nil, err
	}
	if err := gturbo.CheckTensors(&snap.Parsed.Arch, p.quant(), index, layout); err != nil {
		return nil, err
	}
	plan, err := p.plan(index, head, layout, pieces, chunk)
	if err != nil {
		return nil, err
	}
	art := &Artifact{
		Plan: plan,
		Dirs: []string{gturbo.TokenizerDir, gturbo.ExpertsDir},
		Side: tokenizerFiles(),
		Documents: []Document{
			{Path: gturbo.LayoutFile, Encode: layout.Encode},
			{Path: gturbo.TokenizerDir + "/" + configName, Encode: func() ([]byte, error) { return snap.Config, nil }},
		},
	}
	art.Seal = func(files map[string]gturbo.FileRecord) ([]byte, []byte, error) {
		return p.seal(files, layout, receipt)
	}
	return art, nil
}

// classify puts one tensor where it belongs; companions go with their base and never alone.
func (p *textPlanner) classify(t Tensor) error {
	for _, prefix := range droppedPrefixes {
		if strings.HasPrefix(t.Name, prefix) {
			return nil
		}
	}
	if !strings.HasPrefix(t.Name, languagePrefix) {
		return fmt.Errorf("%w: %s", ErrUnknownTensor, t.Name)
	}
	if base, ok := isCompanion(t.Name); ok {
		if _, ok := p.snap.Tensors[base]; !ok {
			return fmt.Errorf("%w: %s, which %s belongs to", ErrMissingTensor, base, t.Name)
		}
		return nil
	}
	r, err := newResident(p.snap, t)
	if err != nil {
		return err
	}
	layer, role, ok := expertRole(t.Name)
	if !ok {
		p.resident = append(p.resident, r)
		return nil
	}
	if layer >= len(p.layers) {
		return fmt.Errorf("%w: %s in a model of %d layers", ErrUnknownTensor, t.Name, len(p.layers))
	}
	if err := checkExperts(&r, p.snap.Parsed.Arch.NumExperts); err != nil {
		return err
	}
	if p.layers[layer] == nil {
		p.layers[layer] = experts{}
	}
	if other, ok := p.layers[layer][role]; ok {
		return fmt.Errorf("%w: %s and %s are both %s of layer %d", ErrTensor, other.weights.Name, t.Name, role, layer)
	}
	p.layers[layer][role] = r
	return nil
}

// layout lays out every layer's blobs. All layers must have one stride, because the format has one.
func (p *textPlanner) layout() (*gturbo.Layout, [][]expertPiece, error) {
	n := p.snap.Parsed.Arch.NumExperts
	l := &gturbo.Layout{NumLayers: len(p.layers), ExpertsPerLayer: n}
	all := make([][]expertPiece, len(p.layers))
	for i, layer := range p.layers {
		for _, role := range expertRoles {
			if _, ok := layer[role]; !ok {
				return nil, nil, fmt.Errorf("%w: %s_proj of the routed experts of layer %d", ErrMissingTensor, role, i)
			}
		}
		pieces, size := blobPieces(layer, n)
		stride, ok := gturbo.AlignUp(uint64(size))
		if !ok || i > 0 && stride != l.ExpertStride {
			return nil, nil, fmt.Errorf("%w: an expert of layer %d takes %d bytes, one of layer 0 %d",
				ErrTensor, i, stride, l.ExpertStride)
		}
		l.ExpertStride = stride
		l.Layers = append(l.Layers, layerLayout(gturbo.LayerID(i), pieces, n, stride))
		all[i] = pieces
	}
	return l, all, nil
}

// plan lists outputs and copies. Outputs are in path order, and the path order of layers is not their number's once
// there are a hundred.
func (p *textPlanner) plan(
	index *gturbo.Index, head []byte, layout *gturbo.Layout, pieces [][]expertPiece, chunk int64,
) (*Plan, error) {
	layerSize, ok := product([]int64{int64(layout.ExpertStride)}, int64(layout.ExpertsPerLayer))
	if !ok {
		return nil, fmt.Errorf("%w: %d experts of %d bytes", ErrPlan, layout.ExpertsPerLayer, layout.ExpertStride)
	}
	files := []Output{{
		Path: gturbo.WeightsFile, Size: int64(index.IndexSize + index.ResidentSize), Head: head,
	}}
	for i := range layout.Layers {
		files = append(files, Output{Path: layout.LayerFile(gturbo.LayerID(i)), Size: layerSize})
	}
	slices.SortFunc(files, func(a, b Output) int { return strings.Compare(a.Path, b.Path) })
	number := map[string]int{}
	for i := range files {
		number[files[i].Path] = i
	}
	copies := residentCopies(index, p.resident, number[gturbo.WeightsFile])
	for i := range pieces {
		file := number[layout.LayerFile(gturbo.LayerID(i))]
		copies = append(copies, expertCopies(pieces[i], layout.ExpertsPerLayer, int64(layout.ExpertStride), file)...)
	}
	plan, err := buildPlan(files, copies, chunk)
	if err != nil {
		return nil, err
	}
	plan.domain, plan.layout, plan.indexSHA256 = "TurboFieldfare.RemoteInstallPlan.v1", "identity", gturbo.SHA256(head)
	return plan, nil
}

// tokenizerFiles lists the small files of a text install, in the order in which they are fetched.
func tokenizerFiles() []SideFile {
	var side []SideFile
	for _, f := range []struct {
		name     string
		optional bool
	}{
		{"tokenizer.json", false}, {"tokenizer_config.json", false}, {"special_tokens_map.json", true},
		{"chat_template.jinja", true}, {"chat_template.json", true},
	} {
		limit, ok := gturbo.TokenizerFileCap(f.name)
		if !ok {
			panic("BUG: no cap for tokenizer file " + f.name)
		}
		side = append(side, SideFile{
			Name: f.name, Path: gturbo.TokenizerDir + "/" + f.name, Cap: int64(limit), Optional: f.optional,
		})
	}
	return side
}

// seal makes the manifest and the receipt.
func (p *textPlanner) seal(
	files map[string]gturbo.FileRecord, layout *gturbo.Layout, receipt Receipt,
) (manifest, proof []byte, err error) {
	overrides := len(p.snap.Parsed.Quantization.Overrides)
	m := &gturbo.Manifest{
		Magic: gturbo.Magic, VersionMajor: gturbo.VersionMajor, VersionMinor: gturbo.VersionMinor,
		Flags:                    gturbo.NewFlags(),
		ModelID:                  modelID(p.snap),
		SourceSnapshotHash:       snapshotHash(p.snap),
		Arch:                     p.snap.Parsed.Arch,
		Quant:                    p.quant(),
		Files:                    files,
		ExpertsPerLayer:          layout.ExpertsPerLayer,
		NumLayers:                layout.NumLayers,
		ExpertStride:             layout.ExpertStride,
		BitWidthOverridesHonored: &overrides,
	}
	if manifest, err = m.Encode(); err != nil {
		return nil, nil, err
	}
	r := gturbo.NewReceipt(m, manifest, receipt.Path, toolVersion, receipt.Time)
	r.SourceRepoID, r.SourceRevision = m.ModelID, knownRevision(p.snap)
	proof, err = r.Encode()
	return manifest, proof, err
}

// snapshotHash is how manifests name the checkpoint that they were made from.
func snapshotHash(snap *Snapshot) string { return "sha256:" + snap.IndexSHA256 }

// quant records the bits of each kind of matrix, as the planned tensors have them. The last entry of a kind decides.
func (p *textPlanner) quant() *gturbo.Quant {
	bits := struct{ embedding, attention, router, shared, routed int }{4, 4, 8, 8, 4}
	for _, r := range p.resident {
		name := r.weights.Name
		switch {
		case r.bits == 0:
		case name == embeddingName:
			bits.embedding = r.bits
		case strings.HasSuffix(name, ".self_attn.q_proj.weight"):
			bits.attention = r.bits
		case strings.HasSuffix(name, ".router.proj.weight"):
			bits.router = r.bits
		case strings.HasSuffix(name, ".mlp.gate_proj.weight"):
			bits.shared = r.bits
		}
	}
	if len(p.layers) > 0 {
		bits.routed = p.layers[0][expertRoles[0]].bits
	}
	return &gturbo.Quant{
		Embedding:    gturbo.AffineSlot(bits.embedding),
		Attention:    gturbo.AffineSlot(bits.attention),
		Router:       gturbo.AffineSlot(bits.router),
		SharedExpert: gturbo.AffineSlot(bits.shared),
		RoutedExpert: gturbo.AffineSlot(bits.routed),
	}
}
