package install

import (
	"fmt"
	"path/filepath"

	"github.com/fieldfare/fieldfare/gturbo"
)

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
