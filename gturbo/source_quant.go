package gturbo

import (
	"fmt"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// SourceQuantization says how many bits each quantized tensor of the checkpoint has.
type SourceQuantization struct {
	Bits, GroupSize int
	Mode            string
	Overrides       map[string]int // tensor name without ".weight" to bits
}

// TensorBits returns the bits of the tensor of that name; a trailing ".weight" does not matter.
func (q *SourceQuantization) TensorBits(name string) int {
	if bits, ok := q.Overrides[strings.TrimSuffix(name, ".weight")]; ok {
		return bits
	}
	return q.Bits
}

func (p *configParser) quantization(r *strictjson.Reader) error {
	q := &p.Quantization
	*q = SourceQuantization{Bits: 4, GroupSize: GroupSize, Mode: "affine", Overrides: map[string]int{}}
	type override struct{ bits, group int }
	overrides := map[string]override{}
	err := r.Map(func(key string) error {
		switch {
		case key == "bits":
			return r.Int(&q.Bits)
		case key == "group_size":
			return r.Int(&q.GroupSize)
		case key == "mode":
			return r.String(&q.Mode)
		case !r.IsObject():
			return r.Skip()
		}
		var o override
		keys := strictjson.Keys{Optional: []string{"bits", "group_size", "mode"}}
		err := r.Object(keys, func(key string) error {
			switch key {
			case "bits":
				return r.Int(&o.bits)
			case "group_size":
				return r.Int(&o.group)
			default:
				return want(r, "affine", ErrConfigQuantType)
			}
		})
		overrides[key] = o
		return err
	})
	if err != nil {
		return err
	}
	if !strings.EqualFold(q.Mode, "affine") || q.GroupSize != GroupSize || q.Bits < 1 || q.Bits > 32 {
		return fmt.Errorf("mode %q, group_size %d, bits %d: %w", q.Mode, q.GroupSize, q.Bits, ErrConfigQuantType)
	}
	for name, o := range overrides {
		if o.group != 0 && o.group != q.GroupSize {
			return fmt.Errorf("%s: group_size %d, base %d: %w", name, o.group, q.GroupSize, ErrConfigQuant)
		}
		if o.bits < 0 || o.bits > 32 {
			return fmt.Errorf("%s: bits %d: %w", name, o.bits, ErrConfigNumber)
		}
		if o.bits == 0 {
			o.bits = q.Bits
		}
		q.Overrides[name] = o.bits
	}
	return nil
}
