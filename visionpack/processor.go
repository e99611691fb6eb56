package visionpack

import (
	"fmt"
	"math"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// Processor is what processor_config.json says about the preparation of pictures.
type Processor struct {
	// MaxSoftTokens is the budget of one picture that the model was made for.
	MaxSoftTokens int
}

// ParseProcessor reads processor_config.json, or the part of it called image_processor, for a tower. What it asks for
// must be what this program does: bicubic resizing, values scaled by 1/255, no normalisation, the tower's patches and
// pooling. Errors wrap ErrProcessor.
func ParseProcessor(data []byte, t *Tower) (*Processor, error) {
	image := data
	err := strictjson.Parse(data, func(r *strictjson.Reader) error {
		return r.Object(strictjson.Keys{Optional: []string{"image_processor"}}, func(string) error { return r.Raw(&image) })
	})
	p := &Processor{}
	if err == nil {
		err = strictjson.Parse(image, func(r *strictjson.Reader) error {
			return r.Object(processorKeys, func(key string) error { return p.read(r, key, t) })
		})
	}
	if err == nil && (p.MaxSoftTokens < 1 || p.MaxSoftTokens > math.MaxInt16) {
		err = fmt.Errorf("max_soft_tokens %d", p.MaxSoftTokens)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", ProcessorFile, ErrProcessor, err)
	}
	return p, nil
}

var processorKeys = strictjson.Keys{
	Required: []string{"max_soft_tokens"},
	Optional: []string{
		"patch_size", "pooling_kernel_size", "resample", "do_resize", "do_rescale", "do_normalize", "rescale_factor",
	},
}

const bicubic = 3 // the value of "resample" for it

func (p *Processor) read(r *strictjson.Reader, key string, t *Tower) error {
	switch key {
	case "max_soft_tokens":
		return r.Int(&p.MaxSoftTokens)
	case "patch_size":
		return number(r, key, t.Patch)
	case "pooling_kernel_size":
		return number(r, key, t.Pool)
	case "resample":
		return number(r, key, bicubic)
	case "do_resize", "do_rescale":
		return flag(r, key, true)
	case "do_normalize":
		return flag(r, key, false)
	default:
		var factor float64
		err := r.Float(&factor)
		if err == nil && float32(factor) != float32(1.0/255) {
			err = fmt.Errorf("%s is %v, want 1/255", key, factor)
		}
		return err
	}
}

// number reads an integer that must be want.
func number(r *strictjson.Reader, key string, want int) error {
	var got int
	err := r.Int(&got)
	if err == nil && got != want {
		err = fmt.Errorf("%s is %d, want %d", key, got, want)
	}
	return err
}
