package install

import "fmt"

// newCheckpoint describes the work on a plan before any of it is done. A directory has no commit; the start of its
// index's hash stands in for one, so that the record has the form that every reader of it expects.
func newCheckpoint(snap *Snapshot, plan *Plan) *checkpoint {
	c := &checkpoint{
		RepoID:            modelID(snap),
		RequestedRevision: snap.Origin.RequestedRevision,
		ResolvedCommit:    revision(snap),
		SourceIndexSHA256: snap.IndexSHA256,
		PlanFingerprint:   plan.Fingerprint(),
		TotalSourceBytes:  plan.SourceBytes(),
	}
	if c.RequestedRevision == "" {
		c.RequestedRevision = c.ResolvedCommit
	}
	return c
}

// modelID names the model by its source: a known index first, then what the source says, then the name that says that
// nobody knows.
func modelID(snap *Snapshot) string {
	if k, ok := known(snap.IndexSHA256); ok {
		return k.RepoID
	}
	return unknownModelID
}

// revision names the commit of a source; what stands in for one is never empty.
func revision(snap *Snapshot) string {
	if r := knownRevision(snap); r != "" {
		return r
	}
	return snap.IndexSHA256[:40]
}

// knownRevision returns the commit that the source or its known index names, or nothing.
func knownRevision(snap *Snapshot) string {
	if snap.Origin.Revision != "" {
		return snap.Origin.Revision
	}
	k, _ := known(snap.IndexSHA256)
	return k.Revision
}

// sameWork reports whether an earlier run worked on the same plan of the same source.
func (c *checkpoint) sameWork(now *checkpoint) error {
	for _, f := range []struct{ what, then, now string }{
		{"repository", c.RepoID, now.RepoID},
		{"requested revision", c.RequestedRevision, now.RequestedRevision},
		{"commit", c.ResolvedCommit, now.ResolvedCommit},
		{"source index", c.SourceIndexSHA256, now.SourceIndexSHA256},
		{"plan", c.PlanFingerprint, now.PlanFingerprint},
		{"source bytes", fmt.Sprint(c.TotalSourceBytes), fmt.Sprint(now.TotalSourceBytes)},
	} {
		if f.then != f.now {
			return fmt.Errorf("%w: the unfinished install has %s %s, this one has %s", ErrStateIncompatible, f.what, f.then, f.now)
		}
	}
	return nil
}
