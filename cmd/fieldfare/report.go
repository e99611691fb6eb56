package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/gturbo/lease"
	"github.com/fieldfare/fieldfare/visionpack"
)

// errStopped ends a run that the user broke off.
var errStopped = errors.New("stopped")

// report tells the user what went wrong and what to do, a line each, and gives the exit status.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, context.Canceled) {
		err = errStopped
	}
	for line := range strings.Lines(err.Error()) { // joined errors: a line per problem
		fmt.Fprintln(a.stderr, "fieldfare: error:", strings.TrimSuffix(line, "\n"))
	}
	if hint := hintFor(err); hint != "" {
		fmt.Fprintln(a.stderr, "fieldfare: hint:", hint)
	}
	var wrong *misuseError
	if errors.As(err, &wrong) || errors.Is(err, core.ErrOptions) || errors.Is(err, install.ErrOptions) {
		return exitMisuse
	}
	return exitFailed
}

// A hinted error carries its own advice.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

func withHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// hints says what to do about errors that any command may meet; the first that matches counts.
var hints = []struct {
	is   error
	hint string
}{
	{core.ErrContextLength, "raise --max-context, or shorten the prompt"},
	{core.ErrNoMedia, `pictures need the image pack beside the model: "fieldfare install --vision --help" tells how`},
	{visionpack.ErrNotFound, `"fieldfare install --vision --model NAME.gturbo" adds it`},
	{visionpack.ErrIncompatible, `"fieldfare install --vision --overwrite --model NAME.gturbo" makes one for this model`},
	{visionpack.ErrReceipt, `"fieldfare verify NAME.gturbo" checks the pack and gives it a new receipt`},
	{visionpack.ErrEntries, "move what does not belong there elsewhere; a missing file: install the pack again"},
	{visionpack.ErrChecksum, `"fieldfare repair NAME.gturbo" fetches the damaged part again`},
	{visionpack.ErrSize, `"fieldfare repair NAME.gturbo" fetches the damaged part again`},
	{visionpack.ErrMetadata, `"fieldfare install --vision --overwrite --model NAME.gturbo" makes the pack anew`},
	{lease.ErrBusy, "wait until the other fieldfare has finished, or end it"},
	{install.ErrBusy, "wait until the other fieldfare has finished, or end it"},
	{install.ErrStateMissing, `start with "fieldfare install", without --resume`},
	{install.ErrStateIncompatible, "continue with --resume, or delete the unfinished install with --discard"},
	{install.ErrUnknownSource, "--allow-unknown installs a checkpoint that this program does not know"},
	{gturbo.ErrChecksum, `"fieldfare repair" fetches the damaged part again`},
	{gturbo.ErrSize, `"fieldfare repair" fetches the damaged part again`},
	{gturbo.ErrMissingFile, `"fieldfare repair" fetches the damaged part again`},
}

func hintFor(err error) string {
	var own *hinted
	if errors.As(err, &own) {
		return own.hint
	}
	var wrong *misuseError
	if errors.As(err, &wrong) {
		return `"fieldfare --help" and "fieldfare COMMAND --help" show how`
	}
	for _, h := range hints {
		if errors.Is(err, h.is) {
			return h.hint
		}
	}
	if hint := pictureHint(err); hint != "" {
		return hint
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "check the path; without --model the demo model answers"
	}
	return ""
}
