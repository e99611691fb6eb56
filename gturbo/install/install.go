package install

import (
	"context"
	"time"
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
