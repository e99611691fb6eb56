package gturbo

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Arch holds the dimensions and constants of the text model, as the manifest records them.
type Arch struct {
	HiddenSize          int     `json:"hiddenSize"`          // D
	FFNIntermediate     int     `json:"ffnIntermediate"`     // Fs, width of the shared expert
	MoEIntermediateSize int     `json:"moeIntermediateSize"` // F, width of a routed expert
	NumHeads            int     `json:"numHeads"`            // H
	NumKVHeads          int     `json:"numKVHeads"`          // G of sliding layers
	NumFullKVHeads      int     `json:"numFullKVHeads"`      // G of full layers
	HeadDim             int     `json:"headDim"`             // Dh of sliding layers
	FullHeadDim         int     `json:"fullHeadDim"`         // Dh of full layers
	VocabSize           int     `json:"vocabSize"`           // V
	SlidingWindow       int     `json:"slidingWindow"`       // positions that a sliding row sees, itself included
	FinalLogitSoftcap   float64 `json:"finalLogitSoftcap"`
	RopeTheta           float64 `json:"ropeTheta"`           // sliding layers
	FullRopeTheta       float64 `json:"fullRopeTheta"`       // full layers
	PartialRotaryFactor float64 `json:"partialRotaryFactor"` // share of a full head that rotates, 0 to 1
	NumLayers           int     `json:"numLayers"`           // L
	NumExperts          int     `json:"numExperts"`          // E
	TopKExperts         int     `json:"topKExperts"`         // K
	TieWordEmbeddings   bool    `json:"tieWordEmbeddings"`
	AttentionKEqV       bool    `json:"attentionKEqV"`
	HiddenActivation    string  `json:"hiddenActivation"`
	// FullAttentionLayerMask holds 1 for full and 0 for sliding layers, [L].
	FullAttentionLayerMask []int `json:"fullAttentionLayerMask"`
}

// Full reports whether a layer attends to all positions instead of a sliding window.
func (a *Arch) Full(layer LayerID) bool { return a.FullAttentionLayerMask[layer] == 1 }

var archKeys = strictjson.Keys{Required: []string{
	"hiddenSize", "ffnIntermediate", "moeIntermediateSize", "numHeads", "numKVHeads", "numFullKVHeads", "headDim",
	"fullHeadDim", "vocabSize", "slidingWindow", "finalLogitSoftcap", "ropeTheta", "fullRopeTheta",
	"partialRotaryFactor", "numLayers", "numExperts", "topKExperts", "tieWordEmbeddings", "attentionKEqV",
	"hiddenActivation", "fullAttentionLayerMask",
}}

type namedInt struct {
	name  string
	value *int
}

// dimensions lists the integers that must be positive, in the order in which they are checked and compared.
func (a *Arch) dimensions() []namedInt {
	return []namedInt{
		{"hiddenSize", &a.HiddenSize}, {"ffnIntermediate", &a.FFNIntermediate},
		{"moeIntermediateSize", &a.MoEIntermediateSize}, {"numHeads", &a.NumHeads}, {"numKVHeads", &a.NumKVHeads},
		{"numFullKVHeads", &a.NumFullKVHeads}, {"headDim", &a.HeadDim}, {"fullHeadDim", &a.FullHeadDim},
		{"vocabSize", &a.VocabSize}, {"slidingWindow", &a.SlidingWindow}, {"numLayers", &a.NumLayers},
		{"numExperts", &a.NumExperts}, {"topKExperts", &a.TopKExperts},
	}
}

func (a *Arch) decode(r *strictjson.Reader) error {
	dimensions := a.dimensions()
	return r.Object(archKeys, func(key string) error {
		for _, d := range dimensions {
			if d.name == key {
				return r.Int(d.value)
			}
		}
		switch key {
		case "finalLogitSoftcap":
			return r.Float(&a.FinalLogitSoftcap)
		case "ropeTheta":
			return r.Float(&a.RopeTheta)
		case "fullRopeTheta":
			return r.Float(&a.FullRopeTheta)
		case "partialRotaryFactor":
			return r.Float(&a.PartialRotaryFactor)
		case "tieWordEmbeddings":
			return r.Bool(&a.TieWordEmbeddings)
		case "attentionKEqV":
			return r.Bool(&a.AttentionKEqV)
		case "hiddenActivation":
			return r.String(&a.HiddenActivation)
		default:
			return r.Array(func(int) error {
				var full int
				err := r.Int(&full)
				a.FullAttentionLayerMask = append(a.FullAttentionLayerMask, full)
				return err
			})
		}
	})
}

func (a *Arch) check() error {
	for _, d := range a.dimensions() {
		if *d.value <= 0 {
			return fmt.Errorf("%s %d: %w", d.name, *d.value, ErrArchDimension)
		}
	}
	for _, n := range []struct {
		name  string
		value float64
		ok    bool
	}{
		{"finalLogitSoftcap", a.FinalLogitSoftcap, finite(a.FinalLogitSoftcap)},
		{"ropeTheta", a.RopeTheta, finite(a.RopeTheta) && a.RopeTheta > 0},
		{"fullRopeTheta", a.FullRopeTheta, finite(a.FullRopeTheta) && a.FullRopeTheta > 0},
		{"partialRotaryFactor", a.PartialRotaryFactor, a.PartialRotaryFactor >= 0 && a.PartialRotaryFactor <= 1},
	} {
		if !n.ok {
			return fmt.Errorf("%s %v: %w", n.name, n.value, ErrArchNumber)
		}
	}
	if a.TopKExperts > a.NumExperts {
		return fmt.Errorf("topKExperts %d of %d experts: %w", a.TopKExperts, a.NumExperts, ErrTopK)
	}
	if a.HiddenActivation == "" {
		return fmt.Errorf("hiddenActivation: %w", ErrActivation)
	}
	if len(a.FullAttentionLayerMask) != a.NumLayers {
		return fmt.Errorf("fullAttentionLayerMask has %d of %d layers: %w",
			len(a.FullAttentionLayerMask), a.NumLayers, ErrLayerMask)
	}
	for layer, full := range a.FullAttentionLayerMask {
		if full != 0 && full != 1 {
			return fmt.Errorf("fullAttentionLayerMask[%d] %d: %w", layer, full, ErrLayerMask)
		}
	}
	return nil
}

// CheckEqual returns nil when other is the same architecture, else an error that wraps ErrArch and names the first
// field that differs, its value here and its value in other.
func (a *Arch) CheckEqual(other *Arch) error {
	differ := func(name string, want, got any) error {
		return fmt.Errorf("%s: expected %v, found %v: %w", name, want, got, ErrArch)
	}
	theirs := other.dimensions()
	for i, d := range a.dimensions() {
		if *d.value != *theirs[i].value {
			return differ(d.name, *d.value, *theirs[i].value)
		}
	}
	for _, f := range []struct {
		name      string
		want, got any
	}{
		{"finalLogitSoftcap", a.FinalLogitSoftcap, other.FinalLogitSoftcap},
		{"ropeTheta", a.RopeTheta, other.RopeTheta},
		{"fullRopeTheta", a.FullRopeTheta, other.FullRopeTheta},
		{"partialRotaryFactor", a.PartialRotaryFactor, other.PartialRotaryFactor},
		{"tieWordEmbeddings", a.TieWordEmbeddings, other.TieWordEmbeddings},
		{"attentionKEqV", a.AttentionKEqV, other.AttentionKEqV},
		{"hiddenActivation", a.HiddenActivation, other.HiddenActivation},
	} {
		if f.want != f.got {
			return differ(f.name, f.want, f.got)
		}
	}
	for layer := range a.FullAttentionLayerMask {
		if a.FullAttentionLayerMask[layer] != other.FullAttentionLayerMask[layer] {
			return differ(fmt.Sprintf("fullAttentionLayerMask[%d]", layer),
				a.FullAttentionLayerMask[layer], other.FullAttentionLayerMask[layer])
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
