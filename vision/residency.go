package vision

import (
	"errors"
	"fmt"

	"github.com/fieldfare/fieldfare/visionpack"
)

// Residency says when the tower's weights are in memory, and with that what the expert slots have to make room for.
// It never changes output.
type Residency int

const (
	// OnDemand (default): before pictures are encoded the expert slots are given back, and the tower is mapped a few
	// regions at a time. Peak memory is the larger of the two, not their sum.
	OnDemand Residency = iota
	// KeepReady: the tower is mapped at load and stays; expert slots stay too. Pictures start sooner.
	KeepReady
)

var residencies = [...]string{"on-demand", "keep-ready"}

// String is the name used by flags and reports.
func (r Residency) String() string {
	if r < 0 || int(r) >= len(residencies) {
		return fmt.Sprintf("residency(%d)", int(r))
	}
	return residencies[r]
}

// ParseResidency is the inverse of Residency.String. Errors wrap ErrOptions.
func ParseResidency(name string) (Residency, error) {
	for r, n := range residencies {
		if n == name {
			return Residency(r), nil
		}
	}
	return 0, fmt.Errorf("%w: residency %q: expected on-demand or keep-ready", ErrOptions, name)
}

// regions hands out the pack's groups in execution order. On demand at most two are mapped: the one in use, and the
// next, which the system reads ahead in the meantime.
type regions struct {
	pack   *visionpack.Pack
	keep   bool
	mapped []*visionpack.Region // by group, nil where not mapped
}

func newRegions(pack *visionpack.Pack, policy Residency) (*regions, error) {
	r := &regions{pack: pack, keep: policy == KeepReady, mapped: make([]*visionpack.Region, pack.Groups())}
	if !r.keep {
		return r, nil
	}
	for g := range r.mapped {
		if err := r.load(g); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}

// use returns group g, mapped until done(g).
func (r *regions) use(g int) (*visionpack.Region, error) {
	for _, n := range []int{g, g + 1} {
		if err := r.load(n); err != nil {
			return nil, err
		}
	}
	return r.mapped[g], nil
}

// load maps group g if there is such a group and it is not mapped.
func (r *regions) load(g int) (err error) {
	if g < len(r.mapped) && r.mapped[g] == nil {
		r.mapped[g], err = r.pack.Map(g)
	}
	return err
}

// done says that no queued work reads group g any more.
func (r *regions) done(g int) error {
	if r.keep || r.mapped[g] == nil {
		return nil
	}
	region := r.mapped[g]
	r.mapped[g] = nil
	return region.Close()
}

// release ends an encoding, whole or broken off: on demand nothing stays mapped.
func (r *regions) release() error {
	var problems []error
	for g := range r.mapped {
		problems = append(problems, r.done(g))
	}
	return errors.Join(problems...)
}

func (r *regions) close() error {
	r.keep = false
	return r.release()
}
