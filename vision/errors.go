package vision

import "errors"

// Why pictures cannot be taken, beside the refusals of one picture (packages picture and resize) and of the pack
// (package visionpack).
var (
	// ErrOptions: an option is out of its bounds.
	ErrOptions = errors.New("bad image option")
	// ErrBackend: the backend cannot run the image tower.
	ErrBackend = errors.New("no image tower on this backend")
	// ErrInstall: the runtime was not loaded from an install that a pack could be bound to.
	ErrInstall = errors.New("no install that an image pack could belong to")
	// ErrBudgetSize: a picture asks for more soft tokens than the runtime was sized for.
	ErrBudgetSize = errors.New("soft-token budget above what was prepared for")
	// ErrNonFinite: the tower's output holds a NaN or an infinity.
	ErrNonFinite = errors.New("image tower gave non-finite values")
)
