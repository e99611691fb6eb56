package install

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fieldfare/fieldfare/gturbo/lease"
)

// paths are the names that an install works with, siblings in the physical parent of the output, so that every alias
// of the parent meets at the same lock.
type paths struct {
	requested  string // absolute and clean, symlinks kept: what the receipt records
	parent     string
	final      string
	partial    string
	checkpoint string
	lock       string
	ranges     string // checksums that point at damage; see ranges.go
	use        string // lock that a running model shares; see package lease
	replaced   string // the old install, where two directories cannot be exchanged in one step
}

// resolvePaths works out the names for an output. The parent is created where create is set; else it must exist.
func resolvePaths(fsys FS, output string, create bool) (paths, error) {
	if output == "" {
		return paths{}, fmt.Errorf("%w: no output path", ErrOptions)
	}
	requested, err := filepath.Abs(output)
	if err != nil {
		return paths{}, err
	}
	name := filepath.Base(requested)
	if name == string(filepath.Separator) || filepath.Dir(requested) == requested {
		return paths{}, fmt.Errorf("%w: %s is not a name in a directory", ErrOptions, output)
	}
	parent := filepath.Dir(requested)
	if create {
		if err := fsys.MkdirParents(parent); err != nil {
			return paths{}, fmt.Errorf("create the output's parent: %w", err)
		}
	}
	physical, err := fsys.Physical(parent)
	if err != nil {
		return paths{}, fmt.Errorf("resolve the output's parent: %w", err)
	}
	final := filepath.Join(physical, name)
	return paths{
		requested:  requested,
		parent:     physical,
		final:      final,
		partial:    final + ".partial",
		checkpoint: final + ".resume.json",
		lock:       final + ".install.lock",
		ranges:     final + ".ranges.json",
		use:        filepath.Join(physical, lease.UseName(name)),
		replaced:   final + ".replaced",
	}, nil
}

// checkTypes refuses a symlink or an entry of the wrong type at any name that the installer would touch.
func (p *paths) checkTypes(fsys FS) error {
	for _, dir := range []string{p.final, p.partial, p.replaced} {
		if _, err := present(fsys, dir, true); err != nil {
			return err
		}
	}
	for _, file := range []string{p.checkpoint, p.lock, p.ranges} {
		if _, err := present(fsys, file, false); err != nil {
			return err
		}
	}
	return nil
}

// takeLock takes the install lock and looks at the entries again once it is held.
func (p *paths) takeLock(fsys FS, what string) (release func(), err error) {
	if err := p.checkTypes(fsys); err != nil {
		return nil, err
	}
	lock, err := fsys.Lock(p.lock, lockNote(what))
	if err != nil {
		return nil, err
	}
	if err := p.checkTypes(fsys); err != nil {
		lock.Close()
		return nil, err
	}
	return func() { lock.Close() }, nil
}

func lockNote(what string) string {
	host, err := os.Hostname()
	if err != nil {
		host = runtime.GOOS
	}
	return fmt.Sprintf("%s by process %d on %s", what, os.Getpid(), host)
}
