package install

import "fmt"

// sideFileAllowance is the room counted for each required small file, whose size is not known yet.
const sideFileAllowance = 32 << 20

// needBytes returns the room that the rest of an install takes. Reserved files are sparse, so bytes that a checkpoint
// lists are taken as allocated and all others as not.
func needBytes(art *Artifact, completed []completedRange, reserve int64) int64 {
	need := art.Plan.OutputBytes() + reserve
	for _, c := range completed {
		need -= c.DestinationBytes
	}
	for i := range art.Side {
		if !art.Side[i].Optional {
			need += sideFileAllowance
		}
	}
	return need
}

// checkSpace compares the room on the disk with what is still to be written.
func (r *run) checkSpace(e *engine) error {
	e.meter.phase(PhaseDisk, "", 0, 0)
	need := needBytes(e.art, e.saved.Completed, r.opts.Reserve)
	free, err := e.fs.Free(r.paths.parent)
	if err != nil {
		return fmt.Errorf("measure free space: %w", err)
	}
	if free < need {
		return &SpaceError{Dir: r.paths.parent, Need: need, Available: free}
	}
	return nil
}
