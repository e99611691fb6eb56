package metal

import (
	"errors"
	"fmt"
)

var (
	// ErrDevice: the device or the system lacks a feature, which the message names.
	ErrDevice = errors.New("this gpu cannot be used")
	// ErrImages: the device runs text but not the image tower.
	ErrImages = errors.New("this gpu cannot run images")
	// ErrTensors: the device has no use for the kernels of Metal 4's tensor operations.
	ErrTensors = errors.New("this gpu has no tensor operations")
	// ErrShape: the dimensions of a model or tower are outside of what the kernels compute, or disagree.
	ErrShape = errors.New("unsupported shape")
	// ErrKernel: a kernel computes wrong numbers on this device.
	ErrKernel = errors.New("kernel failed its check")
)

// joinProblems makes one error of all problems found in what; nil when there are none.
func joinProblems(what string, problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", what, errors.Join(problems...))
}
