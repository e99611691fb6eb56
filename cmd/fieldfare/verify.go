package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/visionpack"
)

func (a *app) verifyCommand() *cobra.Command {
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "verify NAME.gturbo",
		Short: "Check every byte of an install without loading it",
		Long: `verify hashes every file of an install and of its image pack, names damaged files and the bytes in them, and lists
files that do not belong there. A sound install gets a fresh receipt.`,
		Example: "  fieldfare verify gemma4.gturbo",
		Args:    exactArgs(1, "the path of an install"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args[0], asJSON, a.newBar(quiet || asJSON))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the report as JSON")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "show no progress")
	return cmd
}

func (a *app) verify(ctx context.Context, path string, asJSON bool, bar *bar) error {
	report, err := install.Verify(ctx, path, gturbo.VerifyOptions{
		Progress: func(_ string, done, total int64) { bar.bytes("verifying", done, total) },
	})
	bar.clear()
	var damage *gturbo.DamageError
	if err != nil && !errors.As(err, &damage) {
		return err
	}
	pack, packErr := verifyPack(ctx, path, bar)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if asJSON {
		if e := json.NewEncoder(a.stdout).Encode(verifyReport(report, pack, packErr)); e != nil {
			return e
		}
	} else {
		a.printVerified(report, pack, packErr)
	}
	if damage != nil {
		return withHint(fmt.Errorf("%s is damaged in %d places", report.Path, len(report.Damages)),
			"fieldfare repair %s fetches the damaged parts again", report.Path)
	}
	return packErr
}

func (a *app) printVerified(r *gturbo.VerifyReport, pack *visionpack.Report, packErr error) {
	for _, d := range r.Damages {
		fmt.Fprintln(a.stdout, d)
	}
	if len(r.Damages) == 0 {
		for _, extra := range r.Extras {
			fmt.Fprintf(a.stdout, "%s does not belong to the install\n", extra)
		}
		fmt.Fprintf(a.stdout, "%s is sound: %d files, %s\n", r.Path, r.Files, size(r.Bytes))
	}
	if pack != nil && packErr == nil {
		fmt.Fprintf(a.stdout, "%s is sound: %d files, %s\n", pack.Path, pack.Files, size(pack.Bytes))
	}
}

// verifyReport is what programs read.
func verifyReport(r *gturbo.VerifyReport, pack *visionpack.Report, packErr error) any {
	report := map[string]any{
		"path": r.Path, "files": r.Files, "bytes": r.Bytes, "manifest_sha256": r.ManifestSHA256,
		"extras": append([]string{}, r.Extras...), "damages": damageReports(r.Damages), "sound": len(r.Damages) == 0,
	}
	images := map[string]any{"sound": packErr == nil}
	if packErr != nil {
		images["error"] = packErr.Error()
	}
	if pack != nil {
		images["path"], images["files"], images["bytes"] = pack.Path, pack.Files, pack.Bytes
	}
	if pack != nil || packErr != nil {
		report["image_pack"] = images
	}
	return report
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
