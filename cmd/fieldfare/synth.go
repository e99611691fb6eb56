package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/gturbo/synth"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/visionpack"
)

// devCommand groups what developers of fieldfare use.
func (a *app) devCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dev", Short: "Tools for people who work on fieldfare", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.synthCommand(), a.ggufCommand(), a.replayCommand())
	return cmd
}

func (a *app) synthCommand() *cobra.Command {
	var (
		output, config          string
		vision, thin, overwrite bool
		show                    showFlags
	)
	cmd := &cobra.Command{
		Use:   "synth --output NAME.gturbo",
		Short: "Write a synthetic model of the true shapes, without any download",
		Long: fmt.Sprintf(`synth writes an install with the shapes of Gemma 4 26B-A4B and weights from a counter-based generator (%s), through
the installer. Speed, memory and streaming measured on it are those of the real model; its text is noise.`,
			size(install.PinnedInstalledBytes)),
		Example: `  fieldfare dev synth --output synth.gturbo
  fieldfare dev synth --thin --vision --output thin.gturbo`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "" {
				return misuse("synth needs --output")
			}
			if thin && config != "" {
				return misuse("--thin and --config are mutually exclusive")
			}
			opts, err := synthOptions(thin, config)
			if err != nil {
				return err
			}
			src, err := synth.New(opts)
			if err != nil {
				return err
			}
			return a.synth(cmd.Context(), src, output, vision, overwrite, &show)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&output, "output", "", "the .gturbo directory to write")
	flags.BoolVar(&vision, "vision", false, "write the image pack beside it too")
	flags.BoolVar(&thin, "thin", false, "a small model with awkward shapes instead (94 MB)")
	flags.StringVar(&config, "config", "", "shapes from this config.json instead")
	flags.BoolVar(&overwrite, "overwrite", false, "replace what exists")
	show.add(cmd)
	return cmd
}

// synthOptions are the shapes that the flags choose, with the demo model's tokenizer.
func synthOptions(thin bool, config string) (synth.Options, error) {
	opts := synth.Options{}
	switch {
	case thin:
		opts.Config = synth.Thin()
	case config != "":
		data, err := os.ReadFile(config)
		if err != nil {
			return opts, err
		}
		opts.Config = data
	}
	var err error
	opts.Tokenizer, err = fs.Sub(testdata.Demo(), "tokenizer")
	return opts, err
}

func (a *app) synth(ctx context.Context, src install.Source, output string, vision, overwrite bool, show *showFlags) error {
	job := installJob{install.PackOptions{Options: install.Options{
		Source: src, Output: output, Overwrite: overwrite, AllowUnknown: true,
	}}}
	if err := a.write(ctx, job, false, show); err != nil || !vision {
		return err
	}
	pack, err := visionpack.Path(output)
	if err != nil {
		return err
	}
	job.Output, job.TextModel = pack, output
	return a.write(ctx, job, false, show)
}
