package gturbo

import (
	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

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
