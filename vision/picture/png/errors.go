package png

import "errors"

var (
	// ErrDamaged: the bytes contradict the format.
	ErrDamaged = errors.New("damaged PNG")
	// ErrTruncated: the file ends before the picture is complete.
	ErrTruncated = errors.New("truncated PNG")
	// ErrUnsupported: a file of a kind that this package does not decode.
	ErrUnsupported = errors.New("unsupported kind of PNG")
)
