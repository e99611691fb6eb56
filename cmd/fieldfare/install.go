package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo/install"
)

type installFlags struct {
	output, from, endpoint      string
	overwrite, resume, discard  bool
	allowUnknown, asJSON, quiet bool
	jobs                        int
}

func (a *app) installCommand() *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Fetch the model, or repack a checkpoint that is on this disk",
		Long: fmt.Sprintf(`install fetches %s from its pinned public source
(%s at %.8s) straight into a verified .gturbo directory: %s to fetch,
%s on disk, no copy in between. Every byte is checked. An interrupted install continues where it stopped.

With --from it repacks a checkpoint directory of that layout (safetensors with index, config and tokenizer files).
HF_TOKEN, HTTPS_PROXY and NO_PROXY are honoured.`,
			install.Pinned.Name, install.Pinned.RepoID, install.Pinned.Revision,
			size(install.PinnedDownloadBytes), size(install.PinnedInstalledBytes)),
		Example: `  fieldfare install
  fieldfare install --output /models/gemma4.gturbo --endpoint https://mirror.example
  fieldfare install --from ./checkpoint --output gemma4.gturbo`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.install(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.output, "output", "", "the .gturbo directory to write (default: the usual place)")
	flags.StringVar(&f.from, "from", "", "repack this checkpoint directory; nothing is fetched")
	flags.StringVar(&f.endpoint, "endpoint", "", "fetch from this mirror of "+install.DefaultEndpoint)
	flags.IntVar(&f.jobs, "jobs", install.DefaultWorkers, "ranges in flight, 1 to 32")
	flags.BoolVar(&f.resume, "resume", false, "continue an unfinished install; an error if there is none")
	flags.BoolVar(&f.discard, "discard", false, "delete an unfinished install and end")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace a finished install; the old one stays until the new one is whole")
	flags.BoolVar(&f.allowUnknown, "allow-unknown", false, "accept a checkpoint that this program does not know")
	flags.BoolVar(&f.asJSON, "json", false, "write progress as one JSON object a line to standard output")
	flags.BoolVar(&f.quiet, "quiet", false, "show no progress")
	return cmd
}

func (a *app) install(ctx context.Context, f *installFlags) error {
	switch {
	case f.resume && f.discard:
		return misuse("--resume and --discard are mutually exclusive")
	case f.from != "" && f.endpoint != "":
		return misuse("--from and --endpoint are mutually exclusive")
	}
	output := f.output
	if output == "" {
		var err error
		if output, err = usualPlace(); err != nil {
			return err
		}
	}
	if f.discard {
		return install.Discard(output)
	}
	src, err := a.source(f)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)

	show := a.installProgress(f)
	do, err := a.freshOrResumed(output, f)
	if err != nil {
		return err
	}
	result, err := do(ctx, install.Options{
		Source: src, Output: output, Overwrite: f.overwrite, AllowUnknown: f.allowUnknown, Workers: f.jobs,
		Progress: show.event,
	})
	show.bar.clear()
	if err != nil {
		return a.explainPause(err, output)
	}
	if f.asJSON {
		return json.NewEncoder(a.stdout).Encode(map[string]any{"type": "done", "result": result})
	}
	fmt.Fprintf(a.stdout, "%s is ready: %s, %s fetched, %s\n",
		result.Path, size(result.OutputBytes), size(result.FetchedBytes), result.Elapsed.Round(time.Second/10))
	return nil
}

// source is where the checkpoint's bytes come from.
func (a *app) source(f *installFlags) (install.Source, error) {
	if f.from != "" {
		return install.NewDirSource(f.from), nil
	}
	return install.NewHubSource(install.HubOptions{
		Endpoint: f.endpoint,
		Token:    os.Getenv("HF_TOKEN"),
		Proxy:    http.ProxyFromEnvironment,
		Notify: func(r install.Retry) {
			if !f.quiet && !f.asJSON {
				fmt.Fprintf(a.stderr, "\nfieldfare: %s: %v; attempt %d of %d in %s\n",
					r.File, r.Err, r.Attempt+1, r.Of, r.Wait.Round(time.Second/10))
			}
		},
	})
}

type installFunc func(context.Context, install.Options) (*install.Result, error)

// freshOrResumed continues an unfinished install without being asked: that is what a person who starts the command
// again wants.
func (a *app) freshOrResumed(output string, f *installFlags) (installFunc, error) {
	if f.resume {
		return install.Resume, nil
	}
	left, err := install.Inspect(output)
	if err != nil || left == nil {
		return install.Install, err
	}
	if !f.quiet {
		fmt.Fprintf(a.stderr, "fieldfare: continuing an unfinished install: %s of %s are there\n", size(left.DoneBytes), size(left.TotalBytes))
	}
	return install.Resume, nil
}

// explainPause says what an install that ended early has kept.
func (a *app) explainPause(err error, output string) error {
	left, inspectErr := install.Inspect(output)
	if inspectErr != nil || left == nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = errStopped
	}
	return withHint(err, "%s of %s are kept: the same command continues, --discard deletes them", size(left.DoneBytes), size(left.TotalBytes))
}

// installShow shows the events of an install.
type installShow struct {
	bar     *bar
	encoder *json.Encoder
	last    time.Time
	phase   install.Phase
}

func (a *app) installProgress(f *installFlags) *installShow {
	s := &installShow{bar: a.newBar(f.quiet || f.asJSON)}
	if f.asJSON {
		s.encoder = json.NewEncoder(a.stdout)
	}
	s.bar.lines = !f.quiet && !f.asJSON
	return s
}

func (s *installShow) event(e install.Event) {
	if s.encoder == nil {
		s.bar.bytes(string(e.Phase), e.Done, e.Total)
		return
	}
	// A program wants every phase and a steady pulse, not every buffer.
	if now := time.Now(); e.Phase != s.phase || now.Sub(s.last) >= time.Second {
		s.phase, s.last = e.Phase, now
		s.encoder.Encode(map[string]any{
			"type": "progress", "phase": e.Phase, "file": e.File, "done": e.Done, "total": e.Total, "reused": e.Reused,
			"bytes_per_second": e.Rate, "remaining_seconds": e.Remaining.Seconds(),
		})
	}
}
