package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo/synth"
)

// ggufCommand writes what llama.cpp is measured on, beside what synth writes for fieldfare.
func (a *app) ggufCommand() *cobra.Command {
	var (
		output, config               string
		thin, pure, overwrite, quiet bool
	)
	cmd := &cobra.Command{
		Use:   "gguf --output FILE.gguf",
		Short: "Write a synthetic GGUF of the true shapes, to compare with llama.cpp",
		Long: `gguf writes a model of the same shapes as "fieldfare dev synth" for llama.cpp: architecture gemma4, Q4_0, the token table
in Q6_K as in files that people have, no image tower. Its weights are other ones, so speeds can be compared and texts
cannot.`,
		Example: `  fieldfare dev gguf --output synth.gguf
  fieldfare dev gguf --thin --output thin.gguf`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "" {
				return misuse("gguf needs --output")
			}
			if thin && config != "" {
				return misuse("--thin and --config are mutually exclusive")
			}
			opts, err := synthOptions(thin, config)
			if err != nil {
				return err
			}
			return a.writeGGUF(cmd.Context(), synth.GGUFOptions{Options: opts, Output: output, Overwrite: overwrite, Pure: pure}, quiet)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&output, "output", "", "the file to write")
	flags.BoolVar(&thin, "thin", false, "a small model with awkward shapes instead (89 MB)")
	flags.StringVar(&config, "config", "", "shapes from this config.json instead")
	flags.BoolVar(&pure, "pure", false, "the token table in Q4_0 too, which llama.cpp reads faster")
	flags.BoolVar(&overwrite, "overwrite", false, "replace what exists")
	flags.BoolVar(&quiet, "quiet", false, "print no progress")
	return cmd
}

func (a *app) writeGGUF(ctx context.Context, opts synth.GGUFOptions, quiet bool) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	bar := a.newBar(quiet)
	opts.Progress = func(done, total int64) { bar.bytes("writing", done, total) }
	start := time.Now()
	n, err := synth.WriteGGUF(ctx, opts)
	bar.clear()
	switch {
	case errors.Is(err, fs.ErrExist):
		return withHint(err, "--overwrite replaces %s; delete a .partial file that no run is writing", opts.Output)
	case err != nil:
		return err
	}
	took := time.Since(start)
	fmt.Fprintf(a.stdout, "%s is ready: %s, %s/s\n", opts.Output, size(n), size(int64(float64(n)/took.Seconds())))
	return nil
}
