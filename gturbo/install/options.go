package install

import (
	"errors"
	"fmt"
	"time"
)

const (
	// DefaultWorkers is how many ranges are in flight by default.
	DefaultWorkers = 4
	maxWorkers     = 32
	// DefaultReserve is the room that an install leaves free on the disk by default, in bytes.
	DefaultReserve = 1 << 30
)

// Options say what to install, from where and to where. They are copied in and never change.
type Options struct {
	Source Source // required
	Output string // the install's directory; required
	// Overwrite replaces an install that exists. The old one stays whole until the new one is complete.
	Overwrite bool
	// AllowUnknown accepts a checkpoint whose index is not in [KnownSources].
	AllowUnknown bool
	Workers      int         // ranges in flight, 1 to 32; default 4
	Chunk        int64       // largest range in bytes, up to 64 MiB, the default
	Reserve      int64       // bytes to leave free on the disk; default 1 GiB
	Progress     func(Event) // called by one goroutine at a time; may be nil
	FS           FS          // default: the host's

	now func() time.Time // default: time.Now
}

// withDefaults returns a copy with every default filled in, or every problem at once.
func (o Options) withDefaults() (Options, error) {
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Chunk == 0 {
		o.Chunk = DefaultChunk
	}
	if o.Reserve == 0 {
		o.Reserve = DefaultReserve
	}
	if o.FS == nil {
		o.FS = HostFS()
	}
	if o.now == nil {
		o.now = time.Now
	}
	return o, o.Validate()
}

// Validate reports every problem of the options at once; each wraps ErrOptions.
func (o *Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...)))
	}
	if o.Source == nil {
		bad("no source")
	}
	if o.Output == "" {
		bad("no output path")
	}
	if o.Workers < 0 || o.Workers > maxWorkers {
		bad("%d ranges in flight, expected 1 to %d", o.Workers, maxWorkers)
	}
	if o.Chunk < 0 || o.Chunk > DefaultChunk {
		bad("ranges of %d bytes, expected 1 to %d", o.Chunk, DefaultChunk)
	}
	if o.Reserve < 0 {
		bad("a reserve of %d bytes", o.Reserve)
	}
	return errors.Join(errs...)
}
