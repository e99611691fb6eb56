package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fieldfare/fieldfare/gturbo"
)

// Result says what an install has done.
type Result struct {
	Path           string // the install, through the physical parent
	ManifestSHA256 string
	ModelID        string
	OutputBytes    int64 // payload on disk
	FetchedBytes   int64 // payload read from the source by this run, gaps included
	ReusedBytes    int64 // payload that earlier runs had left
	Ranges         int
	Elapsed        time.Duration
	// AlreadyComplete: an earlier run had finished everything but its own cleaning up.
	AlreadyComplete bool
}

// Install writes the text model of a checkpoint to a new directory. It refuses to start where an unfinished install
// lies (ErrStateIncompatible: resume or discard it) or a finished one (ErrExists), unless Overwrite is set.
//
// When ctx ends or anything fails, what is complete stays for [Resume], unless nothing was: then nothing is left.
func Install(ctx context.Context, o Options) (*Result, error) {
	return installText(ctx, o, false)
}

// Resume continues an unfinished install of the same checkpoint: every range that is recorded is digested again and
// kept if it is whole, everything else is fetched. Without an unfinished install the error wraps ErrStateMissing, with
// one of another checkpoint or plan ErrStateIncompatible.
func Resume(ctx context.Context, o Options) (*Result, error) {
	return installText(ctx, o, true)
}

func installText(ctx context.Context, o Options, resume bool) (*Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := resolvePaths(o.FS, o.Output, true)
	if err != nil {
		return nil, err
	}
	run := &run{opts: o, paths: p, resume: resume, what: "install"}
	return run.do(ctx, func(snap *Snapshot) (*Artifact, error) {
		return TextArtifact(snap, o.Chunk, Receipt{Path: p.requested, Time: o.now()})
	})
}

// run is one call of an installing function, whatever the artifact.
type run struct {
	opts   Options
	paths  paths
	resume bool
	what   string
}

// do carries an artifact from state to state: lock, look at what is there, read the source's small files, plan, check
// the disk, copy, hash, seal, rename.
func (r *run) do(ctx context.Context, build func(*Snapshot) (*Artifact, error)) (*Result, error) {
	began := r.opts.now()
	fsys := r.opts.FS
	release, err := r.paths.takeLock(fsys, r.what)
	if err != nil {
		return nil, err
	}
	defer release()
	unlock, err := r.lockUsed()
	if err != nil {
		return nil, err
	}
	unlock()
	state, err := lookAt(fsys, &r.paths)
	if err != nil {
		return nil, err
	}
	if state.promoted {
		return r.finishCleaning(state, began)
	}
	if err := r.admit(state); err != nil {
		return nil, err
	}
	m := newMeter(r.opts.Progress, r.opts.now)
	m.phase(PhaseMetadata, "", 0, 0)
	pinned := ""
	if state.saved != nil {
		pinned = state.saved.ResolvedCommit
	}
	snap, err := LoadSnapshot(ctx, r.opts.Source, pinned)
	if err != nil {
		return nil, err
	}
	if _, ok := known(snap.IndexSHA256); !ok && !r.opts.AllowUnknown {
		return nil, fmt.Errorf("%w: its index has SHA-256 %s", ErrUnknownSource, snap.IndexSHA256)
	}
	art, err := build(snap)
	if err != nil {
		return nil, err
	}
	e := &engine{
		fs: fsys, src: r.opts.Source, paths: r.paths, art: art, workers: r.opts.Workers, meter: m,
		blocks: newBlockMap(art.Plan),
	}
	defer e.close()
	result := &Result{Path: r.paths.final, ModelID: modelID(snap), OutputBytes: art.Plan.OutputBytes(), Ranges: len(art.Plan.Ranges)}
	if err := r.execute(ctx, e, snap, state, result); err != nil {
		return nil, err
	}
	result.Elapsed = r.opts.now().Sub(began)
	return result, nil
}

// execute runs the engine from whatever is there to the final name.
func (r *run) execute(ctx context.Context, e *engine, snap *Snapshot, state *state, result *Result) error {
	if err := r.begin(ctx, e, snap, state); err != nil {
		return err
	}
	for _, c := range e.saved.Completed {
		result.ReusedBytes += c.SourceBytes
	}
	result.FetchedBytes = e.saved.TotalSourceBytes - result.ReusedBytes
	if err := e.copySideFiles(ctx); err != nil {
		return err
	}
	if err := e.copyRanges(ctx); err != nil {
		return err
	}
	files, err := e.hashOutputs(ctx)
	if err != nil {
		return err
	}
	if err := e.seal(files); err != nil {
		return err
	}
	result.ManifestSHA256 = e.saved.SealedManifest
	if err := e.close(); err != nil { // Windows renames no directory with open files in it
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := r.lockUsed()
	if err != nil {
		return err
	}
	defer unlock()
	return r.paths.promote(e.fs)
}

// begin makes the partial directory ready for copying: a fresh one, or the one that an earlier run left, with its
// records checked. A fresh one that cannot be made ready is removed again.
func (r *run) begin(ctx context.Context, e *engine, snap *Snapshot, state *state) error {
	fresh := newCheckpoint(snap, e.art.Plan)
	if state.saved == nil {
		e.saved = *fresh
		return r.beginFresh(e)
	}
	if err := state.saved.sameWork(fresh); err != nil {
		return err
	}
	e.saved = *state.saved
	e.saved.SealedManifest = ""
	whole, err := false, error(nil)
	if state.partial {
		if err := e.dropStrays(); err != nil {
			return err
		}
		if whole, err = e.openOutputs(); err != nil {
			return err
		}
	}
	if !whole {
		if err := e.close(); err != nil {
			return err
		}
		e.saved = *fresh
		return r.beginFresh(e)
	}
	if err := e.revalidate(ctx); err != nil {
		return err
	}
	if err := r.checkSpace(e); err != nil {
		return err
	}
	return e.save()
}

func (r *run) beginFresh(e *engine) error {
	if err := r.checkSpace(e); err != nil {
		return err
	}
	err := e.reserve()
	if err == nil {
		return nil
	}
	e.close()
	// Nothing of value exists yet, so nothing is kept; what cannot be deleted is deleted by the next run.
	_ = removeTree(e.fs, r.paths.partial)
	if _, statErr := e.fs.Lstat(r.paths.checkpoint); errors.Is(statErr, fs.ErrNotExist) {
		return err
	}
	_ = e.fs.Remove(r.paths.checkpoint)
	return err
}

// lockUsed makes sure that no model uses the install that is going to be replaced, and that none begins to until
// unlock is called. It is called once before any byte is fetched, to refuse early, and again around the rename.
func (r *run) lockUsed() (unlock func(), err error) {
	there, err := present(r.opts.FS, r.paths.final, true)
	if err != nil || !there || !r.opts.Overwrite {
		return func() {}, err
	}
	lock, err := r.opts.FS.Lock(r.paths.use, lockNote(r.what))
	if err != nil {
		return nil, err
	}
	return func() { lock.Close() }, nil
}

// finishCleaning ends the work of a run that was killed after the rename.
func (r *run) finishCleaning(state *state, began time.Time) (*Result, error) {
	if err := r.paths.sweep(r.opts.FS); err != nil {
		return nil, err
	}
	result := &Result{
		Path: r.paths.final, ManifestSHA256: state.saved.SealedManifest, ModelID: state.saved.RepoID,
		ReusedBytes: state.saved.TotalSourceBytes, Ranges: len(state.saved.Completed), AlreadyComplete: true,
	}
	result.Elapsed = r.opts.now().Sub(began)
	return result, nil
}

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

// state is what stands at the names of an install before a run.
type state struct {
	final, partial bool
	saved          *checkpoint // nil without a checkpoint
	promoted       bool        // the rename has happened, its cleaning up has not
}

func lookAt(fsys FS, p *paths) (*state, error) {
	s := &state{}
	var err error
	if s.final, err = present(fsys, p.final, true); err != nil {
		return nil, err
	}
	if s.partial, err = present(fsys, p.partial, true); err != nil {
		return nil, err
	}
	if s.saved, err = loadCheckpoint(fsys, p.checkpoint); err != nil {
		return nil, err
	}
	if s.saved != nil && s.saved.SealedManifest != "" && s.final {
		// After an exchange the partial name holds the old install. Where that has the same manifest, nothing tells
		// whether the exchange has happened; then the partial directory is checked and finished once more.
		s.promoted = manifestHash(fsys, p.final) == s.saved.SealedManifest &&
			(!s.partial || manifestHash(fsys, p.partial) != s.saved.SealedManifest)
	}
	return s, nil
}

// manifestHash returns the hash of an install's manifest, or nothing when it cannot be read.
func manifestHash(fsys FS, dir string) string {
	data, err := readSmall(fsys, filepath.Join(dir, manifestName), gturbo.MaxManifestSize)
	if err != nil {
		return ""
	}
	return gturbo.SHA256(data)
}

// admit decides from the state alone, before anything is fetched, whether a run may go on. A partial directory
// without a checkpoint, and the reverse, hold nothing that could be trusted: the run starts over.
func (r *run) admit(s *state) error {
	switch {
	case s.final && !r.opts.Overwrite:
		return fmt.Errorf("%w: %s (use --overwrite to replace it)", ErrExists, r.paths.final)
	case r.resume && s.saved == nil && !s.partial:
		return fmt.Errorf("%w at %s", ErrStateMissing, r.paths.final)
	case !r.resume && s.saved != nil && s.partial:
		return fmt.Errorf("%w: an unfinished install of %s lies at %s; resume it or discard it",
			ErrStateIncompatible, s.saved.RepoID, r.paths.partial)
	}
	if !r.resume {
		s.saved = nil
	}
	return nil
}
