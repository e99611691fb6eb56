package gturbo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Layout is packed_experts/layout.json: where each expert lies in its layer's file and each tensor in its expert.
type Layout struct {
	ExpertStride    uint64        `json:"expertStride"`
	NumLayers       int           `json:"numLayers"`
	ExpertsPerLayer int           `json:"expertsPerLayer"`
	Layers          []LayerLayout `json:"layers"` // ascending by Layer once decoded
}

// LayerLayout describes the file of one layer: expertsPerLayer blobs of expertStride bytes, back to back.
type LayerLayout struct {
	Layer   LayerID        `json:"layer"`
	File    string         `json:"file"`    // base name in packed_experts
	Experts []ExpertRecord `json:"experts"` // ascending by logical id once decoded
}

// ExpertRecord describes one blob.
type ExpertRecord struct {
	// Expert is the logical id; nil stands for the position in the array.
	Expert *ExpertID `json:"expert,omitempty"`
	// PhysicalRank is the place of the blob in the file; nil stands for the logical id.
	PhysicalRank *int   `json:"physicalRank,omitempty"`
	Offset       uint64 `json:"offset"` // from the start of the file: rank times stride
	Size         uint64 `json:"size"`   // the stride
	// Tensors maps roles to their place. Decoded experts that are laid out alike share one map: do not change it.
	Tensors map[string]SubTensor `json:"tensors"`
}

// SubTensor describes one tensor of a blob.
type SubTensor struct {
	Offset uint64   `json:"offset"` // from the start of the blob
	Size   uint64   `json:"size"`
	DType  string   `json:"dtype"` // U32 or BF16
	Shape  []uint32 `json:"shape"` // logical, as if dequantized
	Bits   *int     `json:"bits,omitempty"`
}

func (t SubTensor) equal(o SubTensor) bool {
	return t.Offset == o.Offset && t.Size == o.Size && t.DType == o.DType && slices.Equal(t.Shape, o.Shape) &&
		(t.Bits == nil) == (o.Bits == nil) && (t.Bits == nil || *t.Bits == *o.Bits)
}

func sameTensors(a, b map[string]SubTensor) bool { return maps.EqualFunc(a, b, SubTensor.equal) }

// LayerFile is the path of a layer's file, relative to the install.
func (l *Layout) LayerFile(layer LayerID) string { return ExpertsDir + "/" + l.Layers[layer].File }

// Offset is where an expert begins in its layer's file, in bytes.
func (l *Layout) Offset(layer LayerID, expert ExpertID) int64 {
	return int64(l.Layers[layer].Experts[expert].Offset)
}

// DecodeLayout reads and checks layout.json, and sorts layers and experts by their numbers. Errors wrap
// ErrMetadataCap or ErrCorrupt, and the rule that was broken.
func DecodeLayout(data []byte) (*Layout, error) {
	if len(data) > MaxLayoutSize {
		return nil, capped("layout.json", len(data), MaxLayoutSize)
	}
	l := &Layout{}
	err := strictjson.Parse(data, func(r *strictjson.Reader) error { return l.decode(r) })
	if err != nil {
		return nil, fmt.Errorf("layout.json: %w: %w", ErrCorrupt, err)
	}
	if err := l.Check(); err != nil {
		return nil, fmt.Errorf("layout.json: %w", err)
	}
	l.sort()
	return l, nil
}

// Encode checks l and writes it in canonical form.
func (l *Layout) Encode() ([]byte, error) {
	if err := l.Check(); err != nil {
		return nil, fmt.Errorf("encode layout.json: %w", err)
	}
	data, err := EncodeCanonical(l)
	if err != nil {
		return nil, fmt.Errorf("encode layout.json: %w", err)
	}
	if len(data) > MaxLayoutSize {
		return nil, capped("layout.json", len(data), MaxLayoutSize)
	}
	return data, nil
}

func (l *Layout) sort() {
	for i := range l.Layers {
		experts := l.Layers[i].Experts
		if len(experts) > 0 && experts[0].Expert != nil {
			slices.SortFunc(experts, func(a, b ExpertRecord) int { return cmp.Compare(*a.Expert, *b.Expert) })
		}
	}
	slices.SortFunc(l.Layers, func(a, b LayerLayout) int { return cmp.Compare(a.Layer, b.Layer) })
}

// isLayoutName reports whether a layer file's name would stand for the layout itself on some file system.
func isLayoutName(file string) bool {
	return PathKey(file) == strings.TrimPrefix(LayoutFile, ExpertsDir+"/")
}
