package gturbo

import (
	"fmt"
	"io"
	"slices"
)

// Names returns the names of the root's entries, sorted. More than limit of them are refused with ErrScanLimit.
func (r *Root) Names(limit int) ([]string, error) {
	f, err := r.dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(limit + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(names) > limit {
		return nil, fmt.Errorf("more than %d entries: %w", limit, ErrScanLimit)
	}
	slices.Sort(names)
	return names, nil
}
