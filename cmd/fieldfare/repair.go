package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo/install"
)

func (a *app) repairCommand() *cobra.Command {
	var (
		from sourceFlags
		show showFlags
	)
	cmd := &cobra.Command{
		Use:   "repair NAME.gturbo",
		Short: "Fetch the damaged parts of an install again",
		Long: `repair verifies an install and fetches what is damaged, blocks of at most 1 MiB, from the source that the install
was made from; the rest stays where it is. A sound install is left alone.`,
		Example: `  fieldfare repair gemma4.gturbo
  fieldfare repair --from ./checkpoint gemma4.gturbo`,
		Args: exactArgs(1, "the path of an install"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := a.source(&from, &show)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			progress := a.newShow(&show)
			report, err := install.Repair(ctx, install.RepairOptions{Source: src, Path: args[0], Progress: progress.event})
			progress.bar.clear()
			if err != nil {
				return err
			}
			if show.asJSON {
				return json.NewEncoder(a.stdout).Encode(map[string]any{
					"type": "done", "damages": damageReports(report.Damages), "rebuilt": append([]string{}, report.Rebuilt...),
					"fetched_bytes": report.FetchedBytes,
				})
			}
			for _, d := range report.Damages {
				fmt.Fprintln(a.stdout, "repaired:", d)
			}
			for _, name := range report.Rebuilt {
				fmt.Fprintln(a.stdout, "made anew:", name)
			}
			fmt.Fprintf(a.stdout, "%s is sound; %s fetched\n", args[0], size(report.FetchedBytes))
			return nil
		},
	}
	from.add(cmd)
	show.add(cmd)
	return cmd
}
