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

var (
	layoutKeys = strictjson.Keys{Required: []string{"expertStride", "numLayers", "expertsPerLayer", "layers"}}
	layerKeys  = strictjson.Keys{Required: []string{"layer", "file", "experts"}}
	expertKeys = strictjson.Keys{
		Required: []string{"offset", "size", "tensors"}, Optional: []string{"expert", "physicalRank"},
	}
	tensorKeys = strictjson.Keys{Required: []string{"offset", "size", "dtype", "shape"}, Optional: []string{"bits"}}
)

func (l *Layout) decode(r *strictjson.Reader) error {
	d := layoutDecoder{Reader: r}
	return r.Object(layoutKeys, func(key string) error {
		switch key {
		case "expertStride":
			return r.Uint64(&l.ExpertStride)
		case "numLayers":
			return r.Int(&l.NumLayers)
		case "expertsPerLayer":
			return r.Int(&l.ExpertsPerLayer)
		default:
			return r.Array(func(int) error {
				var layer LayerLayout
				err := d.layer(&layer)
				l.Layers = append(l.Layers, layer)
				return err
			})
		}
	})
}

// layoutDecoder remembers the tensors of the expert before, which nearly always are those of the next one too: the
// 34,560 sub-tensors of the 26B layout become one map of nine.
type layoutDecoder struct {
	*strictjson.Reader
	previous, scratch map[string]SubTensor
}

func (d *layoutDecoder) layer(layer *LayerLayout) error {
	return d.Object(layerKeys, func(key string) error {
		switch key {
		case "layer":
			return d.Int((*int)(&layer.Layer))
		case "file":
			return d.String(&layer.File)
		default:
			return d.Array(func(int) error {
				var expert ExpertRecord
				err := d.expert(&expert)
				layer.Experts = append(layer.Experts, expert)
				return err
			})
		}
	})
}

func (d *layoutDecoder) expert(expert *ExpertRecord) error {
	return d.Object(expertKeys, func(key string) error {
		switch key {
		case "offset":
			return d.Uint64(&expert.Offset)
		case "size":
			return d.Uint64(&expert.Size)
		case "expert":
			expert.Expert = new(ExpertID)
			return d.Int((*int)(expert.Expert))
		case "physicalRank":
			expert.PhysicalRank = new(int)
			return d.Int(expert.PhysicalRank)
		default:
			var err error
			expert.Tensors, err = d.tensors()
			return err
		}
	})
}

func (d *layoutDecoder) tensors() (map[string]SubTensor, error) {
	if d.scratch == nil {
		d.scratch = map[string]SubTensor{}
	}
	clear(d.scratch)
	err := d.Map(func(role string) error {
		var tensor SubTensor
		err := d.tensor(&tensor)
		d.scratch[role] = tensor
		return err
	})
	if d.previous == nil || !sameTensors(d.previous, d.scratch) {
		d.previous, d.scratch = d.scratch, nil
	}
	return d.previous, err
}

func (d *layoutDecoder) tensor(tensor *SubTensor) error {
	return d.Object(tensorKeys, func(key string) error {
		switch key {
		case "offset":
			return d.Uint64(&tensor.Offset)
		case "size":
			return d.Uint64(&tensor.Size)
		case "dtype":
			return d.String(&tensor.DType)
		case "bits":
			tensor.Bits = new(int)
			return d.Int(tensor.Bits)
		default:
			return d.Array(func(int) error {
				var dimension uint32
				err := d.Uint32(&dimension)
				tensor.Shape = append(tensor.Shape, dimension)
				return err
			})
		}
	})
}

// isLayoutName reports whether a layer file's name would stand for the layout itself on some file system.
func isLayoutName(file string) bool {
	return PathKey(file) == strings.TrimPrefix(LayoutFile, ExpertsDir+"/")
}
