package jpeg

import "errors"

var (
	// ErrDamaged: the bytes contradict the format.
	ErrDamaged = errors.New("damaged JPEG")
	// ErrTruncated: the file ends, or a scan is missing, before the picture is complete.
	ErrTruncated = errors.New("truncated JPEG")
	// ErrUnsupported: a valid file of a kind that this package does not decode.
	ErrUnsupported = errors.New("unsupported kind of JPEG")
)
