package gturbo

import (
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// SourceConfig is what this program reads of a checkpoint's config.json, of which an install keeps a copy. A missing
// key is an error, never a default: defaults of the family describe its other members.
type SourceConfig struct {
	Arch                  Arch
	RMSNormEps            float64
	MaxPositionEmbeddings int
	BOS, Pad              int32
	EOS                   []int32 // ids that end a turn
	// BidirectionalImages: rows of one image see each other in both directions in sliding layers.
	BidirectionalImages bool
	Quantization        SourceQuantization
	Vision              *SourceVision // nil when the checkpoint has no image tower
}

// SourceVision is the part of config.json that belongs to images.
type SourceVision struct {
	Config                           []byte // the JSON text of vision_config
	BeginImage, ImageToken, EndImage int32  // ids around and of the soft tokens
	SoftTokens                       int    // the checkpoint's own budget per image; 0 when it states none
}

var (
	configKeys = strictjson.Keys{
		Required: []string{"model_type", "text_config", "quantization", "eos_token_id"},
		Optional: []string{
			"vision_config", "audio_config", "boi_token_id", "image_token_id", "eoi_token_id",
			"vision_soft_tokens_per_image",
		},
	}
	visionIDs = []string{"boi_token_id", "image_token_id", "eoi_token_id"}
)

// ParseSourceConfig reads config.json. Errors wrap ErrMetadataCap, ErrConfig (malformed, incomplete or inconsistent)
// or ErrUnsupported (a feature of the family that this program does not run, by name).
func ParseSourceConfig(data []byte) (*SourceConfig, error) {
	if len(data) > tokenizerFiles[ConfigFile] {
		return nil, capped(ConfigFile, len(data), tokenizerFiles[ConfigFile])
	}
	p := configParser{ids: map[string]int32{}}
	err := strictjson.Parse(data, func(r *strictjson.Reader) error {
		return r.Object(configKeys, func(key string) error { return p.top(r, key) })
	})
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ConfigFile, configError(err))
	}
	return &p.SourceConfig, nil
}

// configParser collects what can only be judged together.
type configParser struct {
	SourceConfig
	ids        map[string]int32
	softTokens int
}

func (p *configParser) top(r *strictjson.Reader, key string) error {
	switch key {
	case "model_type":
		return want(r, "gemma4", ErrModelType)
	case "text_config":
		return p.text(r)
	case "quantization":
		return p.quantization(r)
	case "eos_token_id":
		return p.eos(r)
	case "vision_config":
		p.Vision = &SourceVision{}
		return p.vision(r)
	case "audio_config":
		return ErrAudioTower
	case "vision_soft_tokens_per_image":
		return r.Int(&p.softTokens)
	default:
		var id int32
		err := r.Int32(&id)
		p.ids[key] = id
		return err
	}
}

// eos reads one id or a list of ids.
func (p *configParser) eos(r *strictjson.Reader) error {
	read := func(int) error {
		var id int32
		err := r.Int32(&id)
		p.EOS = append(p.EOS, id)
		return err
	}
	if r.IsArray() {
		return r.Array(read)
	}
	return read(0)
}

// vision keeps the text of vision_config for the image extension and looks only for what the family has and this
// program does not run.
func (p *configParser) vision(r *strictjson.Reader) error {
	if err := r.Raw(&p.Vision.Config); err != nil {
		return err
	}
	return strictjson.Parse(p.Vision.Config, func(r *strictjson.Reader) error {
		return r.Object(strictjson.Keys{Optional: []string{"use_clipped_linears"}}, func(string) error {
			return refuse(r, ErrClippedLinears)
		})
	})
}

// finish checks what keys say together.
func (p *configParser) finish() error {
	if p.Vision != nil {
		for _, key := range visionIDs {
			if _, ok := p.ids[key]; !ok {
				return fmt.Errorf("%w: %q", strictjson.ErrMissing, key)
			}
		}
		p.Vision.BeginImage, p.Vision.ImageToken = p.ids["boi_token_id"], p.ids["image_token_id"]
		p.Vision.EndImage, p.Vision.SoftTokens = p.ids["eoi_token_id"], p.softTokens
	}
	if len(p.EOS) == 0 {
		return fmt.Errorf("eos_token_id: empty list: %w", ErrConfigNumber)
	}
	return p.checkText()
}

// want reads a string that must be exactly value.
func want(r *strictjson.Reader, value string, otherwise error) error {
	var got string
	if err := r.String(&got); err != nil {
		return err
	}
	if got != value {
		return fmt.Errorf("%q, want %q: %w", got, value, otherwise)
	}
	return nil
}

// refuse reads a boolean that must be false.
func refuse(r *strictjson.Reader, otherwise error) error {
	var on bool
	if err := r.Bool(&on); err != nil {
		return err
	}
	if on {
		return otherwise
	}
	return nil
}

// demand reads a boolean that must be true.
func demand(r *strictjson.Reader, otherwise error) error {
	var on bool
	if err := r.Bool(&on); err != nil {
		return err
	}
	if !on {
		return otherwise
	}
	return nil
}
