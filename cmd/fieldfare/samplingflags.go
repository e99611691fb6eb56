package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
)

// samplingFlags say how an answer is chosen and when it ends.
type samplingFlags struct {
	maxNew  int
	sampler core.Sampling
	stop    []string
}

func (f *samplingFlags) add(cmd *cobra.Command) {
	f.sampler = core.DefaultSampling()
	s := &f.sampler
	flags := cmd.Flags()
	flags.IntVar(&f.maxNew, "max-new", 0, "most new tokens (default: until the context is full)")
	flags.Float64Var(&s.Temperature, "temperature", s.Temperature, "0 always takes the likeliest token")
	flags.IntVar(&s.TopK, "top-k", s.TopK, "choose among so many tokens; 0 is off")
	flags.Float64Var(&s.TopP, "top-p", s.TopP, "choose among the likeliest tokens of this joint mass; 1 is off")
	flags.Float64Var(&s.MinP, "min-p", 0, "drop tokens below this share of the likeliest one's mass")
	flags.Float64Var(&s.RepetitionPenalty, "repetition-penalty", 1, "above 1 makes repeated tokens less likely")
	flags.Uint64Var(&s.Seed, "seed", 0, "another seed draws another answer; the same one repeats it")
	flags.StringArrayVar(&f.stop, "stop", nil, "end the answer before this text (repeatable)")
}

// options are those of one generation. They are checked without a vocabulary here, so that a bad combination is
// refused before a model loads; core checks the rest.
func (f *samplingFlags) options() (core.GenerateOptions, error) {
	o := core.GenerateOptions{Sampling: f.sampler, MaxTokens: f.maxNew}
	const anyVocabulary = 1 << 30
	problems := []error{o.Validate(anyVocabulary)}
	for _, s := range f.stop {
		if s == "" {
			problems = append(problems, misuse("--stop needs a text"))
		}
	}
	return o, errors.Join(problems...)
}
