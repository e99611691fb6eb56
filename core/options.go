package core

import (
	"errors"
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
)

// Options configures Load. Only Backend must be set.
type Options struct {
	// Backend computes.
	Backend Backend
	// KV is the element type of the caches. Default: float16.
	KV KVType
	// MaxContext is the most positions of a session, at most what the model was made for. Default: 4096, or the
	// model's own limit if that is less.
	MaxContext int
	// PrefillChunk is the most rows of a chunk of prompt, 1 to 1024. Default: 128.
	PrefillChunk int
	// MaxSpan is the most soft tokens of one attachment, 0 to 4096, if more than what extensions ask for.
	MaxSpan int
	// Experts sizes and tunes the expert streamer: slots a layer, eviction policy, reads.
	Experts residency.Options
	// Lookahead starts reads for the experts that the next layer will probably choose, where the backend can tell.
	// Output does not change. Default: off (docs/experiments).
	Lookahead bool
	// Open says how the install's files are checked. Default: hash everything, layer files on first use.
	Open gturbo.OpenOptions
	// RewindBytes bounds what each session may spend on saved rows of sliding layers, which let a follow-up turn
	// reuse what lies before a long answer. Default (0): as much as the rings hold; negative: none.
	RewindBytes int64
	// SpanMask is the rule for rows of one attachment. Default: the model's own.
	SpanMask SpanMask
	// Extensions are started in this order.
	Extensions []Extension
}

const (
	defaultContext = 4096
	defaultChunk   = 128
	maxChunk       = 1024
	maxSpanLimit   = 4096
)

// Validate reports every problem that can be seen without the model; the error wraps ErrOptions.
func (o *Options) Validate() error {
	var problems []error
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...))
	}
	if o.Backend == nil {
		bad("no backend")
	}
	if o.KV != KVFloat16 && o.KV != KVFloat32 {
		bad("KV type %d", o.KV)
	}
	if o.MaxContext < 0 {
		bad("context of %d positions", o.MaxContext)
	}
	if o.PrefillChunk < 0 || o.PrefillChunk > maxChunk {
		bad("prefill chunk of %d rows is outside [1, %d]", o.PrefillChunk, maxChunk)
	}
	if o.MaxSpan < 0 || o.MaxSpan > maxSpanLimit {
		bad("spans of %d soft tokens are outside [0, %d]", o.MaxSpan, maxSpanLimit)
	}
	if o.SpanMask < SpanSliding || o.SpanMask > SpanCausal {
		bad("span mask %d", o.SpanMask)
	}
	if err := o.Experts.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("%w: experts: %w", ErrOptions, err))
	}
	return errors.Join(problems...)
}

// withDefaults fills in what is zero and holds the options against the model.
func (o Options) withDefaults(cfg *Config) (Options, error) {
	if o.MaxContext == 0 {
		o.MaxContext = min(defaultContext, cfg.MaxPositions)
	}
	if o.MaxContext > cfg.MaxPositions {
		return o, fmt.Errorf("%w: context of %d positions, the model was made for %d", ErrOptions, o.MaxContext, cfg.MaxPositions)
	}
	if o.PrefillChunk == 0 {
		o.PrefillChunk = defaultChunk
	}
	return o, nil
}
