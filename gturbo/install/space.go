package install

import "fmt"

// checkSpace compares the room on the disk with what is still to be written. Reserved files are sparse, so bytes that
// a checkpoint lists are taken as allocated and all others as not.
func (r *run) checkSpace(e *engine) error {
	e.meter.phase(PhaseDisk, "", 0, 0)
	need := e.art.Plan.OutputBytes()
	for _, c := range e.saved.Completed {
		need -= c.DestinationBytes
	}
	for i := range e.art.Side {
		if !e.art.Side[i].Optional {
			need += sideFileAllowance
		}
	}
	need += r.opts.Reserve
	free, err := e.fs.Free(r.paths.parent)
	if err != nil {
		return fmt.Errorf("measure free space: %w", err)
	}
	if free < need {
		return &SpaceError{Dir: r.paths.parent, Need: need, Available: free}
	}
	return nil
}

// sideFileAllowance is the room counted for each required small file, whose size is not known yet.
const sideFileAllowance = 32 << 20
