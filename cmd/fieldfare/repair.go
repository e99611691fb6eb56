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
was made from; the rest stays where it is. So is its image pack. A sound install is left alone.`,
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
			options := install.RepairOptions{Source: src, Path: args[0], Progress: progress.event}
			text, err := install.Repair(ctx, options)
			progress.bar.clear()
			if err != nil {
				return err
			}
			pack, images, err := repairPack(ctx, options)
			progress.bar.clear()
			if err != nil {
				return err
			}
			if show.asJSON {
				done := repairReport(text)
				if images != nil {
					done["image_pack"] = repairReport(images)
				}
				done["type"] = "done"
				return json.NewEncoder(a.stdout).Encode(done)
			}
			a.printRepaired(args[0], text)
			if images != nil {
				a.printRepaired(pack, images)
			}
			return nil
		},
	}
	from.add(cmd)
	show.add(cmd)
	return cmd
}

func (a *app) printRepaired(path string, r *install.RepairReport) {
	for _, d := range r.Damages {
		fmt.Fprintln(a.stdout, "repaired:", d)
	}
	for _, name := range r.Rebuilt {
		fmt.Fprintln(a.stdout, "made anew:", name)
	}
	fmt.Fprintf(a.stdout, "%s is sound; %s fetched\n", path, size(r.FetchedBytes))
}

// repairReport is what programs read.
func repairReport(r *install.RepairReport) map[string]any {
	return map[string]any{
		"damages": damageReports(r.Damages), "rebuilt": append([]string{}, r.Rebuilt...), "fetched_bytes": r.FetchedBytes,
	}
}
