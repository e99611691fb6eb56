package openai

import (
	"strconv"

	"github.com/fieldfare/fieldfare/core"
)

// A Common holds what chat and raw completions share.
type Common struct {
	Model    string // empty means the one that is loaded
	Generate core.GenerateOptions
	// Seeded says that the request chose the seed.
	Seeded bool
	// Stop holds texts before which the answer ends.
	Stop   []string
	Stream bool
	// IncludeUsage asks for a last chunk with the usage.
	IncludeUsage bool
	// ReturnProgress asks for the progress of the prompt in the stream.
	ReturnProgress bool
	// Notes say what was understood otherwise than it may have been meant.
	Notes []string
}

const maxStops = 16

// fields are those of every generation. limits receives max_tokens and max_completion_tokens.
func (c *Common) fields(o Options, limits *tokenLimits) fields {
	s := &c.Generate.Sampling
	*s = o.Sampling
	n := 1
	var seed int64
	return fields{
		"model":                 text(&c.Model),
		"max_tokens":            integer(&limits.old, 1, 1<<31-1),
		"max_completion_tokens": integer(&limits.new, 1, 1<<31-1),
		"temperature":           number(&s.Temperature, 0, 2),
		"top_p":                 number(&s.TopP, 0, 1),
		"top_k":                 topK(&s.TopK),
		"min_p":                 number(&s.MinP, 0, 1),
		"repetition_penalty":    number(&s.RepetitionPenalty, 0, 100),
		"repeat_penalty":        number(&s.RepetitionPenalty, 0, 100),
		"presence_penalty":      number(&s.PresencePenalty, -2, 2),
		"frequency_penalty":     number(&s.FrequencyPenalty, -2, 2),
		"logit_bias":            bias(&s.Bias, o.Vocab),
		"seed": func(v value, at string) *Error {
			err := integer(&seed, -1<<63, 1<<63-1)(v, at)
			s.Seed, c.Seeded = uint64(seed), true
			return err
		},
		"stop": stop(&c.Stop),
		"n": func(v value, at string) *Error {
			if err := integer(&n, 1, 128)(v, at); err != nil || n == 1 {
				return err
			}
			return refuse(CodeUnsupportedValue, at, "one answer at a time: only n = 1 is supported")
		},
		"stream":          boolean(&c.Stream),
		"stream_options":  c.streamOptions,
		"return_progress": boolean(&c.ReturnProgress),

		"user":                   ignored,
		"metadata":               ignored,
		"store":                  ignored,
		"service_tier":           ignored,
		"safety_identifier":      ignored,
		"prompt_cache_key":       ignored,
		"prompt_cache_retention": ignored,
		"prompt_cache_options":   ignored,
		"cache_prompt":           ignored,
	}
}

func (c *Common) streamOptions(v value, at string) *Error {
	return fields{"include_usage": boolean(&c.IncludeUsage), "include_obfuscation": ignored}.read(v, at)
}

// tokenLimits are the two names of the same limit; the newer one counts.
type tokenLimits struct{ old, new int }

func (l tokenLimits) max() int {
	if l.new > 0 {
		return l.new
	}
	return l.old
}

// topK takes -1 for off, as some clients spell it.
func topK(dst *int) field {
	return func(v value, at string) *Error {
		err := integer(dst, -1, 1<<31-1)(v, at)
		*dst = max(*dst, 0)
		return err
	}
}

// stop takes a string or up to maxStops of them.
func stop(dst *[]string) field {
	one := func(v value, at string) *Error {
		var s string
		if err := text(&s)(v, at); err != nil {
			return err
		}
		if s == "" {
			return refuse(CodeInvalidValue, at, "a stop text is not empty")
		}
		if *dst = append(*dst, s); len(*dst) > maxStops {
			return refuse(CodeInvalidValue, at, "more than %d stop texts", maxStops)
		}
		return nil
	}
	return func(v value, at string) *Error {
		if v.kind() == "string" {
			return one(v, at)
		}
		return list(one)(v, at)
	}
}

func bias(dst *map[int32]float64, vocab int) field {
	return func(v value, at string) *Error {
		if v.kind() != "object" {
			return wrongType(v, at, "an object")
		}
		*dst = make(map[int32]float64)
		for _, m := range v.members() {
			at := at + "." + shorten(m.key)
			id, err := strconv.ParseInt(m.key, 10, 32)
			if err != nil || id < 0 || vocab > 0 && id >= int64(vocab) {
				return refuse(CodeInvalidValue, at, "not a token id of this model, which has %d", vocab)
			}
			var b float64
			if err := number(&b, -100, 100)(m.value, at); err != nil {
				return err
			}
			(*dst)[int32(id)] = b
		}
		return nil
	}
}
