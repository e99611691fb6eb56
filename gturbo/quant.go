package gturbo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// GroupSize is the number of columns that share a scale and a bias, the only one this program reads.
const GroupSize = 64

// Quant says how each kind of matrix is quantized.
type Quant struct {
	Embedding    QuantSlot `json:"embedding"`
	Attention    QuantSlot `json:"attention"`
	Router       QuantSlot `json:"router"`
	SharedExpert QuantSlot `json:"sharedExpert"`
	RoutedExpert QuantSlot `json:"routedExpert"`
}

// QuantSlot describes one quantization: w = code*scale + bias with unsigned codes of WeightBits bits.
type QuantSlot struct {
	WeightBits int    `json:"weightBits"`
	Scheme     string `json:"scheme"`
	ScaleType  string `json:"scaleType"`
	BiasType   string `json:"biasType"`
	GroupSize  int    `json:"groupSize"`
}

// AffineSlot is the slot that an installer records for a matrix of the given bits.
func AffineSlot(bits int) QuantSlot {
	return QuantSlot{WeightBits: bits, Scheme: "affine", ScaleType: "BF16", BiasType: "BF16", GroupSize: GroupSize}
}

type namedSlot struct {
	name string
	slot *QuantSlot
	bits []int // what the runtime reads
}

func (q *Quant) slots() []namedSlot {
	return []namedSlot{
		{"embedding", &q.Embedding, []int{4}}, {"attention", &q.Attention, []int{4}}, {"router", &q.Router, []int{8}},
		// 8-bit shared experts come from an older source checkpoint and stay legal.
		{"sharedExpert", &q.SharedExpert, []int{4, 8}}, {"routedExpert", &q.RoutedExpert, []int{4}},
	}
}

var (
	quantKeys = strictjson.Keys{
		Required: []string{"embedding", "attention", "router", "sharedExpert", "routedExpert"},
	}
	slotKeys = strictjson.Keys{
		Required: []string{"weightBits", "scheme", "scaleType", "biasType", "groupSize"},
	}
)

func (q *Quant) decode(r *strictjson.Reader) error {
	slots := q.slots()
	return r.Object(quantKeys, func(key string) error {
		for _, s := range slots {
			if s.name == key {
				return s.slot.decode(r)
			}
		}
		panic("BUG: gturbo: quant slot " + key)
	})
}

func (s *QuantSlot) decode(r *strictjson.Reader) error {
	return r.Object(slotKeys, func(key string) error {
		switch key {
		case "weightBits":
			return r.Int(&s.WeightBits)
		case "scheme":
			return r.String(&s.Scheme)
		case "scaleType":
			return r.String(&s.ScaleType)
		case "biasType":
			return r.String(&s.BiasType)
		default:
			return r.Int(&s.GroupSize)
		}
	})
}

func (q *Quant) check() error {
	for _, s := range q.slots() {
		switch {
		case s.slot.WeightBits < 1 || s.slot.WeightBits > 32:
			return fmt.Errorf("%s: weightBits %d: %w", s.name, s.slot.WeightBits, ErrQuantBits)
		case s.slot.Scheme == "" || s.slot.ScaleType == "" || s.slot.BiasType == "":
			return fmt.Errorf("%s: %+v: %w", s.name, *s.slot, ErrQuantName)
		case s.slot.GroupSize <= 0:
			return fmt.Errorf("%s: groupSize %d: %w", s.name, s.slot.GroupSize, ErrQuantGroup)
		}
	}
	return nil
}

func (q *Quant) checkRunnable() error {
	for _, s := range q.slots() {
		ok := slices.Contains(s.bits, s.slot.WeightBits) && s.slot.GroupSize == GroupSize &&
			strings.EqualFold(s.slot.Scheme, "affine") &&
			strings.EqualFold(s.slot.ScaleType, "bf16") && strings.EqualFold(s.slot.BiasType, "bf16")
		if !ok {
			return fmt.Errorf("%s: %+v: %w", s.name, *s.slot, ErrQuantScheme)
		}
	}
	return nil
}
