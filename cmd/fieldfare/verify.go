package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/install"
)

func (a *app) verifyCommand() *cobra.Command {
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "verify NAME.gturbo",
		Short: "Check every byte of an install without loading it",
		Long: `verify hashes every file of an install, names damaged files and the bytes in them, and lists files that do not
belong there. A sound install gets a fresh receipt.`,
		Example: "  fieldfare verify gemma4.gturbo",
		Args:    exactArgs(1, "the path of an install"),
		RunE: func(cmd *cobra.Command, args []string) error {
			bar := a.newBar(quiet || asJSON)
			report, err := install.Verify(cmd.Context(), args[0], gturbo.VerifyOptions{
				Progress: func(_ string, done, total int64) { bar.bytes("verifying", done, total) },
			})
			bar.clear()
			var damage *gturbo.DamageError
			if err != nil && !errors.As(err, &damage) {
				return err
			}
			if asJSON {
				if e := json.NewEncoder(a.stdout).Encode(verifyReport(report)); e != nil {
					return e
				}
			} else if err == nil {
				for _, extra := range report.Extras {
					fmt.Fprintf(a.stdout, "%s does not belong to the install\n", extra)
				}
				fmt.Fprintf(a.stdout, "%s is sound: %d files, %s\n", report.Path, report.Files, size(report.Bytes))
			} else {
				for _, d := range report.Damages {
					fmt.Fprintln(a.stdout, d)
				}
			}
			if damage != nil {
				return withHint(fmt.Errorf("%s is damaged in %d places", report.Path, len(report.Damages)),
					"fieldfare repair %s fetches the damaged parts again", report.Path)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the report as JSON")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "show no progress")
	return cmd
}

// verifyReport is what programs read.
func verifyReport(r *gturbo.VerifyReport) any {
	return map[string]any{
		"path": r.Path, "files": r.Files, "bytes": r.Bytes, "manifest_sha256": r.ManifestSHA256,
		"extras": append([]string{}, r.Extras...), "damages": damageReports(r.Damages), "sound": len(r.Damages) == 0,
	}
}

type damageReport struct {
	File   string `json:"file"`
	Lo     int64  `json:"lo"`
	Hi     int64  `json:"hi"`
	Reason string `json:"reason"`
}

func damageReports(damages []gturbo.Damage) []damageReport {
	out := make([]damageReport, 0, len(damages))
	for _, d := range damages {
		out = append(out, damageReport{d.File, d.Lo, d.Hi, d.String()})
	}
	return out
}
