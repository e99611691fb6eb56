package cpu

import (
	"errors"
	"fmt"
)

var (
	// ErrKernels: the kernel set is unknown, or this machine or build cannot run it.
	ErrKernels = errors.New("no such kernel set here")
	// ErrShape: the dimensions of a model or tower are outside of what the kernels compute, or disagree.
	ErrShape = errors.New("unsupported shape")
)

// joinProblems makes one error of all problems found in what; nil when there are none.
func joinProblems(what string, problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", what, errors.Join(problems...))
}
