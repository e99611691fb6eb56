package pages

import "errors"

var (
	// ErrRange: a size is negative, or a range does not lie inside the file or region.
	ErrRange = errors.New("range out of bounds")
	// ErrMemory: the system refused to map memory.
	ErrMemory = errors.New("cannot map memory")
)
