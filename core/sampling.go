package core

import (
	"errors"
	"fmt"
	"math"
)

// Sampling says how the next token is chosen from the logits. The zero value is greedy decoding: the largest logit,
// the lowest id on a tie, no penalty.
//
// The order is fixed (gemma4-text 8.2): repetition penalty, presence and frequency penalty, bias; softmax over the
// whole vocabulary at temperature 1; top-p, min-p and top-k on those masses without renormalizing in between;
// temperature on the survivors only; one draw that depends on Seed and the index of the generated token alone.
type Sampling struct {
	// Temperature: 0 is greedy, then TopK, TopP and MinP are not looked at. At most 100.
	Temperature float64
	// TopK keeps at most so many tokens; 0 is off.
	TopK int
	// TopP keeps a token when the mass strictly before it is less than TopP; 0 and 1 are off.
	TopP float64
	// MinP drops tokens below MinP times the largest mass; 0 is off. In [0, 1].
	MinP float64
	// RepetitionPenalty divides positive and multiplies negative logits of every id in prompt or output; 0 and 1 are off.
	RepetitionPenalty float64
	// PresencePenalty is subtracted once from the logit of every id in the output, FrequencyPenalty once per
	// occurrence there. In [-2, 2].
	PresencePenalty, FrequencyPenalty float64
	// Bias is added to the logits of single ids after the penalties. The map must not change while a run uses it.
	Bias map[int32]float64
	// Seed selects the sequence of draws.
	Seed uint64
}

// DefaultSampling is what a chat starts with: the settings of the application whose installs we read.
func DefaultSampling() Sampling { return Sampling{Temperature: 0.2, TopK: 64, TopP: 0.95} }

// Greedy reports whether no draw is made.
func (s *Sampling) Greedy() bool { return s.Temperature == 0 }

// penalized reports whether the logits are changed before anything is chosen.
func (s *Sampling) penalized() bool {
	return s.repeats() || s.PresencePenalty != 0 || s.FrequencyPenalty != 0 || len(s.Bias) > 0
}

func (s *Sampling) repeats() bool { return s.RepetitionPenalty != 0 && s.RepetitionPenalty != 1 }

// truncatesByMass reports whether the mass before a token decides if it stays.
func (s *Sampling) truncatesByMass() bool { return s.TopP > 0 && s.TopP < 1 }

// Validate reports everything that is out of bounds; the error wraps ErrOptions.
func (s *Sampling) Validate(vocab int) error {
	var problems []error
	outside := func(name string, v, lo, hi float64) {
		if !(v >= lo && v <= hi) { // NaN is outside
			problems = append(problems, fmt.Errorf("%w: %s %v is outside [%v, %v]", ErrOptions, name, v, lo, hi))
		}
	}
	outside("temperature", s.Temperature, 0, 100)
	outside("top-k", float64(s.TopK), 0, float64(vocab))
	outside("top-p", s.TopP, 0, 1)
	outside("min-p", s.MinP, 0, 1)
	outside("repetition penalty", s.RepetitionPenalty, 0, 100)
	outside("presence penalty", s.PresencePenalty, -2, 2)
	outside("frequency penalty", s.FrequencyPenalty, -2, 2)
	for id, b := range s.Bias {
		if id < 0 || int(id) >= vocab {
			problems = append(problems, fmt.Errorf("%w: bias for id %d, the vocabulary has %d", ErrOptions, id, vocab))
		}
		if math.IsNaN(b) || math.IsInf(b, 0) {
			problems = append(problems, fmt.Errorf("%w: bias of id %d is %v", ErrOptions, id, b))
		}
	}
	return errors.Join(problems...)
}
