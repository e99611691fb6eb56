package install

import "fmt"

// Unfinished describes an install that was begun and not completed.
type Unfinished struct {
	RepoID            string
	RequestedRevision string
	Revision          string
	DoneBytes         int64 // of the source, recorded as complete
	TotalBytes        int64
}

// Inspect says what unfinished install lies at an output, or nil when there is none. An install that is being written
// right now is ErrBusy.
func Inspect(output string) (*Unfinished, error) { return inspect(HostFS(), output) }

func inspect(fsys FS, output string) (*Unfinished, error) {
	p, err := resolvePaths(fsys, output, false)
	if err != nil {
		return nil, err
	}
	if _, err := present(fsys, p.checkpoint, false); err != nil {
		return nil, err
	}
	saved, err := loadCheckpoint(fsys, p.checkpoint)
	if err != nil || saved == nil {
		return nil, err
	}
	release, err := p.takeLock(fsys, "a look")
	if err != nil {
		return nil, err
	}
	defer release()
	u := &Unfinished{
		RepoID: saved.RepoID, RequestedRevision: saved.RequestedRevision, Revision: saved.ResolvedCommit,
		TotalBytes: saved.TotalSourceBytes,
	}
	for _, c := range saved.Completed {
		u.DoneBytes += c.SourceBytes
	}
	return u, nil
}

// Discard deletes an unfinished install and nothing else. Without one the error wraps ErrStateMissing.
func Discard(output string) error { return discard(HostFS(), output) }

func discard(fsys FS, output string) error {
	p, err := resolvePaths(fsys, output, false)
	if err != nil {
		return err
	}
	release, err := p.takeLock(fsys, "discard")
	if err != nil {
		return err
	}
	defer release()
	partial, err := present(fsys, p.partial, true)
	if err != nil {
		return err
	}
	checkpoint, err := present(fsys, p.checkpoint, false)
	if err != nil {
		return err
	}
	if !partial && !checkpoint {
		return fmt.Errorf("%w at %s", ErrStateMissing, p.final)
	}
	return p.giveUp(fsys)
}

// giveUp deletes unfinished work. An old install that had been moved aside for it goes back to its name.
func (p *paths) giveUp(fsys FS) error {
	final, err := present(fsys, p.final, true)
	if err != nil {
		return err
	}
	replaced, err := present(fsys, p.replaced, true)
	if err != nil {
		return err
	}
	if replaced && !final {
		if err := fsys.Rename(p.replaced, p.final); err != nil {
			return fmt.Errorf("put the old install back: %w", err)
		}
		if err := fsys.SyncDir(p.parent); err != nil {
			return err
		}
	}
	return p.sweep(fsys)
}
