package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/visionpack"
)

type installFlags struct {
	output                     string
	from                       sourceFlags
	jobs                       int
	vision                     bool
	model                      string
	overwrite, resume, discard bool
	allowUnknown               bool
	show                       showFlags
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
  fieldfare install --vision
  fieldfare install --from ./checkpoint --output gemma4.gturbo`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.install(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.output, "output", "", "the .gturbo directory to write (default: the usual place)")
	flags.BoolVar(&f.vision, "vision", false, "add the image pack to an installed model, instead of the text model")
	flags.StringVar(&f.model, "model", "", "with --vision: the .gturbo directory that the pack is for (default: the usual place)")
	f.from.add(cmd)
	flags.IntVar(&f.jobs, "jobs", install.DefaultWorkers, "ranges in flight, 1 to 32")
	flags.BoolVar(&f.resume, "resume", false, "continue an unfinished install; an error if there is none")
	flags.BoolVar(&f.discard, "discard", false, "delete an unfinished install and end")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace a finished install; the old one stays until the new one is whole")
	flags.BoolVar(&f.allowUnknown, "allow-unknown", false, "accept a checkpoint that this program does not know")
	f.show.add(cmd)
	return cmd
}

func (a *app) install(ctx context.Context, f *installFlags) error {
	if f.resume && f.discard {
		return misuse("--resume and --discard are mutually exclusive")
	}
	if f.model != "" && !f.vision {
		return misuse("--model says what an image pack is for: it needs --vision")
	}
	job, err := f.job()
	if err != nil {
		return err
	}
	if f.discard {
		return install.Discard(job.Output)
	}
	if job.Source, err = a.source(&f.from, &f.show); err != nil {
		return err
	}
	return a.write(ctx, job, f.resume, &f.show)
}

// job is what the flags ask for, without its source.
func (f *installFlags) job() (installJob, error) {
	j := installJob{PackOptions: install.PackOptions{
		Options: install.Options{Output: f.output, Overwrite: f.overwrite, AllowUnknown: f.allowUnknown, Workers: f.jobs},
	}}
	usual, err := usualPlace()
	if err != nil && (f.vision && f.model == "" || !f.vision && f.output == "") {
		return j, err
	}
	if f.vision {
		j.TextModel = cmp.Or(f.model, usual)
		if j.Output == "" {
			j.Output, err = visionpack.Path(j.TextModel)
			return j, err
		}
		return j, nil
	}
	j.Output = cmp.Or(f.output, usual)
	return j, nil
}

// An installJob is one install to be written: of the image pack when TextModel says for which model, else of the text
// model.
type installJob struct{ install.PackOptions }

func (j *installJob) fresh(ctx context.Context) (*install.Result, error) {
	if j.TextModel != "" {
		return install.InstallPack(ctx, j.PackOptions)
	}
	return install.Install(ctx, j.Options)
}

func (j *installJob) resumed(ctx context.Context) (*install.Result, error) {
	if j.TextModel != "" {
		return install.ResumePack(ctx, j.PackOptions)
	}
	return install.Resume(ctx, j.Options)
}

// write carries a job out. An unfinished install is continued without being asked: that is what a person who starts
// the command again wants.
func (a *app) write(ctx context.Context, j installJob, mustResume bool, f *showFlags) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	do := j.fresh
	if left, err := install.Inspect(j.Output); err != nil {
		return err
	} else if left != nil || mustResume {
		do = j.resumed
		if left != nil && !f.quiet {
			fmt.Fprintf(a.stderr, "fieldfare: continuing an unfinished install: %s of %s are there\n",
				size(left.DoneBytes), size(left.TotalBytes))
		}
	}
	show := a.newShow(f)
	j.Progress = show.event
	result, err := do(ctx)
	show.bar.clear()
	if err != nil {
		return a.explainPause(err, j.Output)
	}
	if f.asJSON {
		return json.NewEncoder(a.stdout).Encode(map[string]any{"type": "done", "result": result})
	}
	fmt.Fprintf(a.stdout, "%s is ready: %s, %s fetched, %s\n",
		result.Path, size(result.OutputBytes), size(result.FetchedBytes), result.Elapsed.Round(time.Second/10))
	return nil
}

// interruptible ends the context at the first interrupt from the keyboard; the second has its usual effect.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
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
	return withHint(err, "%s of %s are kept: the same command continues, --discard deletes them",
		size(left.DoneBytes), size(left.TotalBytes))
}
