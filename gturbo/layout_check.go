package gturbo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Check holds l to the rules of the document; the first broken one is returned.
func (l *Layout) Check() error {
	switch {
	case l.ExpertStride == 0 || l.ExpertStride%Align != 0:
		return fmt.Errorf("expertStride %d, want a positive multiple of %d: %w", l.ExpertStride, Align, ErrLayoutStride)
	case l.NumLayers <= 0:
		return fmt.Errorf("numLayers %d: %w", l.NumLayers, ErrLayoutCount)
	case l.ExpertsPerLayer <= 0:
		return fmt.Errorf("expertsPerLayer %d: %w", l.ExpertsPerLayer, ErrLayoutCount)
	case len(l.Layers) != l.NumLayers:
		return fmt.Errorf("layers has %d items, numLayers %d: %w", len(l.Layers), l.NumLayers, ErrLayoutLayers)
	}
	seen := make([]bool, len(l.Layers))
	files := map[string]bool{}
	for i := range l.Layers {
		layer := &l.Layers[i]
		if layer.Layer < 0 || int(layer.Layer) >= len(seen) || seen[layer.Layer] {
			return fmt.Errorf("layers[%d]: layer %d of %d: %w", i, layer.Layer, l.NumLayers, ErrLayoutLayerID)
		}
		seen[layer.Layer] = true
		if err := checkLayerFile(layer.File, files); err != nil {
			return fmt.Errorf("layers[%d]: %w", i, err)
		}
		if err := l.checkExperts(layer.Experts); err != nil {
			return fmt.Errorf("layers[%d]: %w", i, err)
		}
	}
	return nil
}

func checkLayerFile(file string, seen map[string]bool) error {
	if err := CheckBase(file); err != nil {
		return fmt.Errorf("%w: %w", ErrLayoutFileName, err)
	}
	if isLayoutName(file) {
		return fmt.Errorf("file %q: %w", file, ErrLayoutFileReserved)
	}
	if key := PathKey(file); seen[key] {
		return fmt.Errorf("file %q: %w", file, ErrLayoutFileTwice)
	} else {
		seen[key] = true
	}
	return nil
}

func (l *Layout) checkExperts(experts []ExpertRecord) error {
	if len(experts) != l.ExpertsPerLayer {
		return fmt.Errorf("experts has %d items, expertsPerLayer %d: %w",
			len(experts), l.ExpertsPerLayer, ErrLayoutExperts)
	}
	ids, ranks := make([]bool, len(experts)), make([]bool, len(experts))
	for i := range experts {
		expert := &experts[i]
		if (expert.Expert == nil) != (experts[0].Expert == nil) {
			return fmt.Errorf("experts[%d]: %w", i, ErrLayoutExpertMixed)
		}
		if err := l.checkPlace(expert, i, ids, ranks); err != nil {
			return fmt.Errorf("experts[%d]: %w", i, err)
		}
		if i > 0 && sameTensors(expert.Tensors, experts[i-1].Tensors) {
			continue
		}
		if err := checkTensors(expert); err != nil {
			return fmt.Errorf("experts[%d]: %w", i, err)
		}
	}
	return nil
}

// checkPlace checks id, rank, offset and size of the expert at position i. ids and ranks hold what is taken. Offsets
// are unique because ranks are.
func (l *Layout) checkPlace(expert *ExpertRecord, i int, ids, ranks []bool) error {
	id := i
	if expert.Expert != nil {
		id = int(*expert.Expert)
	}
	if id < 0 || id >= len(ids) || ids[id] {
		return fmt.Errorf("expert %d of %d: %w", id, len(ids), ErrLayoutExpertID)
	}
	ids[id] = true
	rank := id
	if expert.PhysicalRank != nil {
		rank = *expert.PhysicalRank
	}
	if rank < 0 || rank >= len(ranks) || ranks[rank] {
		return fmt.Errorf("physicalRank %d of %d: %w", rank, len(ranks), ErrLayoutRank)
	}
	ranks[rank] = true
	want, ok := mul(uint64(rank), l.ExpertStride)
	if !ok || want > maxFileSize-l.ExpertStride {
		return fmt.Errorf("rank %d times stride %d: %w: %w", rank, l.ExpertStride, ErrOverflow, ErrLayoutOffset)
	}
	if expert.Offset != want {
		return fmt.Errorf("offset %d, want %d: %w", expert.Offset, want, ErrLayoutOffset)
	}
	if expert.Size != l.ExpertStride {
		return fmt.Errorf("size %d, want %d: %w", expert.Size, l.ExpertStride, ErrLayoutExpertSize)
	}
	return nil
}

func checkTensors(expert *ExpertRecord) error {
	roles := slices.Sorted(maps.Keys(expert.Tensors))
	for _, role := range roles {
		if role == "" {
			return ErrLayoutRole
		}
		if err := expert.Tensors[role].check(expert.Size); err != nil {
			return fmt.Errorf("tensors.%s: %w", role, err)
		}
	}
	slices.SortFunc(roles, func(a, b string) int {
		return cmp.Compare(expert.Tensors[a].Offset, expert.Tensors[b].Offset)
	})
	for i := 1; i < len(roles); i++ {
		before, after := expert.Tensors[roles[i-1]], expert.Tensors[roles[i]]
		if before.Offset+before.Size > after.Offset {
			return fmt.Errorf("tensors.%s and .%s: %w", roles[i-1], roles[i], ErrLayoutTensorOverlap)
		}
	}
	return nil
}

func (t SubTensor) check(blob uint64) error {
	if t.Size == 0 || t.Offset > blob || t.Size > blob-t.Offset {
		return fmt.Errorf("%d bytes at offset %d of %d: %w", t.Size, t.Offset, blob, ErrLayoutTensorSize)
	}
	if t.DType != "U32" && t.DType != "BF16" {
		return fmt.Errorf("dtype %q: %w", t.DType, ErrLayoutTensorDType)
	}
	if len(t.Shape) == 0 || slices.Contains(t.Shape, 0) {
		return fmt.Errorf("shape %v: %w", t.Shape, ErrLayoutTensorShape)
	}
	if t.Bits != nil && (*t.Bits < 1 || *t.Bits > 32) {
		return fmt.Errorf("bits %d: %w", *t.Bits, ErrLayoutTensorBits)
	}
	return nil
}

// CheckManifest holds l and m, both checked, against each other: equal counts and stride, and every layer file listed
// under exactly its name with the size of its experts.
func (l *Layout) CheckManifest(m *Manifest) error {
	if l.NumLayers != m.NumLayers || l.ExpertsPerLayer != m.ExpertsPerLayer || l.ExpertStride != m.ExpertStride {
		return fmt.Errorf("layout.json: %d layers of %d experts of %d bytes, manifest says %d of %d of %d: %w",
			l.NumLayers, l.ExpertsPerLayer, l.ExpertStride,
			m.NumLayers, m.ExpertsPerLayer, m.ExpertStride, ErrLayoutManifest)
	}
	want, ok := mul(uint64(l.ExpertsPerLayer), l.ExpertStride)
	if !ok {
		return fmt.Errorf("layout.json: %d experts of %d bytes: %w", l.ExpertsPerLayer, l.ExpertStride, ErrOverflow)
	}
	for i := range l.Layers {
		name := ExpertsDir + "/" + l.Layers[i].File
		record, listed := m.Files[name]
		if !listed || record.Size != want {
			return fmt.Errorf("layout.json: layer %d: manifest lists %s with %d bytes (listed: %t), want %d: %w",
				l.Layers[i].Layer, name, record.Size, listed, want, ErrLayoutLayerFile)
		}
	}
	return nil
}
