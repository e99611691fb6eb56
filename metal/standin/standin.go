package standin

import (
	"fmt"
	"sync"
	"time"

	"github.com/fieldfare/fieldfare/metal/mtl"
)

var opening sync.Mutex

// Open gives a device of package mtl on the stand-in framework. Devices with different options may live side by side.
// Without a compiler the error wraps msl.ErrNoCompiler.
func Open(o Options) (*mtl.Device, error) {
	l, err := loaded()
	if err != nil {
		return nil, fmt.Errorf("metal stand-in: %w", err)
	}
	opening.Lock()
	defer opening.Unlock()
	c := o.config()
	c.Build, c.Line = l.build, l.line
	l.configure(&c)
	return mtl.Open(mtl.Options{Framework: l.path})
}

// A Fault is what shall happen to command buffers instead of, or before, their work.
type Fault struct {
	// Label picks the command buffers whose label contains it.
	Label string
	// Skip lets so many of them pass first; Count hits so many, 0 all that follow.
	Skip, Count int
	// Delay passes before the work begins.
	Delay time.Duration
	// Code is the error that the command buffer ends with, without having run; 0 lets it run.
	Code Code
}

// A Code is an error of command buffers, MTLCommandBufferError.
type Code int

const (
	Internal      Code = 1
	Timeout       Code = 2
	PageFault     Code = 3
	OutOfMemory   Code = 8
	DeviceRemoved Code = 11
)

// Inject adds a fault for the devices of this process. Faults added first are met first; one command buffer meets one.
func Inject(f Fault) error {
	l, err := loaded()
	if err != nil {
		return err
	}
	raw := fault{Skip: uint64(f.Skip), Count: uint64(f.Count), DelayMicros: uint64(f.Delay.Microseconds()),
		Error: uint64(f.Code)}
	put(raw.Label[:], f.Label)
	l.addFault(&raw)
	return nil
}

// ClearFaults removes all faults.
func ClearFaults() {
	if l, err := loaded(); err == nil {
		l.clearFaults()
	}
}

// Live counts the living Objective-C objects of a class, e.g. "MTLBuffer", or all with "".
func Live(class string) int {
	l, err := loaded()
	if err != nil {
		return 0
	}
	if class == "" {
		return int(l.live(nil))
	}
	name := append([]byte(class), 0)
	return int(l.live(&name[0]))
}

// Methods lists what the stand-in implements, one line each: class, sign and selector, kinds of result and arguments.
func Methods() (string, error) {
	l, err := loaded()
	if err != nil {
		return "", err
	}
	return l.methods(), nil
}
