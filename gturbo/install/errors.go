package install

import (
	"errors"
	"fmt"
	"io/fs"
)

// What can stop an install, a repair or a verification. Wrapped errors add what was attempted, expected and found.
var (
	// ErrBusy: another process installs at this path, or a running model uses the files.
	ErrBusy = errors.New("install busy")
	// ErrUnsafePath: a symlink or an entry of the wrong type stands where the installer would write.
	ErrUnsafePath = errors.New("unsafe path")
	// ErrExists: the output exists and replacing it was not asked for.
	ErrExists = errors.New("output already exists")
	// ErrStateMissing: there is nothing to resume or to discard.
	ErrStateMissing = errors.New("no resumable install state exists")
	// ErrStateCorrupt: the partial directory and its checkpoint do not fit together, or the checkpoint is damaged.
	ErrStateCorrupt = errors.New("install state corrupt")
	// ErrStateIncompatible: a partial install exists, but it is of another source or another plan.
	ErrStateIncompatible = errors.New("install state incompatible")
	// ErrOptions: the options contradict themselves.
	ErrOptions = errors.New("invalid options")
	// ErrPlan: a plan's copies overlap, overflow or leave their file. Only a source that lies can cause it.
	ErrPlan = errors.New("invalid plan")

	// ErrHeader: a safetensors header breaks its format.
	ErrHeader = errors.New("invalid safetensors header")
	// ErrIndex: model.safetensors.index.json is not an index.
	ErrIndex = errors.New("invalid checkpoint index")
	// ErrUnknownSource: the checkpoint's index is not one that this program knows.
	ErrUnknownSource = errors.New("unknown source checkpoint")
	// ErrUnknownTensor: a tensor's name fits nothing in this family.
	ErrUnknownTensor = errors.New("unknown tensor")
	// ErrMissingTensor: the configuration promises a tensor that no shard holds.
	ErrMissingTensor = errors.New("missing tensor")
	// ErrTensor: a tensor has another shape or element type than its role demands.
	ErrTensor = errors.New("unexpected tensor")

	// ErrTooLarge: a file of the source is larger than its cap.
	ErrTooLarge = errors.New("source file too large")
	// ErrSourceChanged: the source now answers with other bytes than when the install began.
	ErrSourceChanged = errors.New("source changed")
	// ErrShortSource: the source ended before the promised number of bytes.
	ErrShortSource = errors.New("source ended early")

	// ErrProtocol: the server's answer is not what was asked for, and asking again would not help.
	ErrProtocol = errors.New("unusable answer from the server")
	// ErrStatus: the server refused; an *HTTPError says how.
	ErrStatus = errors.New("refused by the server")
	// ErrRedirect: the server sent us on too often, or to where a request must not go.
	ErrRedirect = errors.New("redirect refused")
	// ErrStalled: a connection stayed open and brought nothing.
	ErrStalled = errors.New("connection stalled")
	// ErrRetryDelay: the server asks for a longer wait than this program is willing to sit out.
	ErrRetryDelay = errors.New("server asks for too long a wait")

	// ErrSpace: the disk has less room than the install needs; a *SpaceError says how much.
	ErrSpace = errors.New("not enough disk space")
	// ErrDamaged: bytes on disk are not the bytes that were recorded.
	ErrDamaged = errors.New("damaged")
)

// SpaceError says how much room is missing. It wraps ErrSpace.
type SpaceError struct {
	Dir             string
	Need, Available int64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%v in %s: %d bytes needed, %d available, %d short",
		ErrSpace, e.Dir, e.Need, e.Available, e.Need-e.Available)
}

func (e *SpaceError) Unwrap() error { return ErrSpace }

func tooLarge(name string, size, limit int64) error {
	return fmt.Errorf("%w: %s has %d bytes, the cap is %d", ErrTooLarge, name, size, limit)
}

func unsafePath(name string, mode fs.FileMode, wantDir bool) error {
	want := "a regular file"
	if wantDir {
		want = "a directory"
	}
	return fmt.Errorf("%w: %s is %v, expected %s or nothing", ErrUnsafePath, name, mode.Type(), want)
}
