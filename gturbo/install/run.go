package install

import (
	"context"
	"fmt"
	"time"
)

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
	err := r.fill(ctx, e, result)
	if err != nil && len(e.saved.Completed) == 0 {
		r.dropWorthless(e)
	}
	return err
}

// fill copies, hashes, seals and promotes.
func (r *run) fill(ctx context.Context, e *engine, result *Result) error {
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
	if err != nil {
		r.dropWorthless(e)
	}
	return err
}

// dropWorthless deletes unfinished work of which no range is complete: nobody would want to resume it. What cannot be
// deleted now is deleted by the next run.
func (r *run) dropWorthless(e *engine) {
	e.close()
	_ = removeTree(e.fs, r.paths.partial)
	_ = e.fs.Remove(r.paths.checkpoint)
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
