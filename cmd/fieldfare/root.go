package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "fieldfare",
		Short: "Run Gemma 4 26B-A4B in about 2 GB of memory",
		Long: `fieldfare runs Gemma 4 26B-A4B, a mixture-of-experts model, in about 2 GB of memory: shared weights stay
resident, routed experts are streamed from the SSD as the router picks them.

Without a model it answers with a small demo model that is part of the program.`,
		Example: `  fieldfare chat "What is the capital of Peru?"
  fieldfare install && fieldfare chat
  fieldfare verify gemma4.gturbo`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse("there is no command %q", args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &misuseError{err} })
	root.AddCommand(
		a.chatCommand(), a.runCommand(), a.serveCommand(),
		a.installCommand(), a.verifyCommand(), a.repairCommand(), a.infoCommand(), a.planCommand(), a.doctorCommand(), a.benchCommand(),
		a.versionCommand(), a.devCommand(),
	)
	a.addImageCommand(root)
	return root
}

// noArgs and exactArgs are cobra's, with misuse's exit status.
func noArgs(cmd *cobra.Command, args []string) error { return exactArgs(0, "no argument")(cmd, args) }

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return misuse("%s takes %s, got %d", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// A misuseError is a wrong call of the program: exit status 2.
type misuseError struct{ err error }

func (e *misuseError) Error() string { return e.err.Error() }
func (e *misuseError) Unwrap() error { return e.err }

func misuse(format string, args ...any) error { return &misuseError{fmt.Errorf(format, args...)} }
