//go:build !novision

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/vision"
	"github.com/fieldfare/fieldfare/vision/resize"
)

// addImageCommand adds the command that only builds with images have.
func (a *app) addImageCommand(root *cobra.Command) { root.AddCommand(a.imageCommand()) }

func (a *app) imageCommand() *cobra.Command {
	var (
		prepare prepareFlags
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "image FILE...",
		Short: "Say what a picture would cost, or why it is refused; needs no model",
		Long: `image judges pictures as chat does, from their header bytes: sizes, tokens for each budget, reasons for refusal.
Nothing is decoded and no model is loaded. "-" is standard input.`,
		Example: `  fieldfare image scene.png
  fieldfare image --json *.jpg | jq '.[] | select(.error)'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse("image needs at least one file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := prepare.options()
			if err != nil {
				return err
			}
			return a.judgePictures(args, opts, asJSON)
		},
	}
	prepare.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON array with one object a file")
	return cmd
}

// A judgement is what admission says about one file.
type judgement struct {
	File    string           `json:"file"`
	Error   string           `json:"error,omitempty"`
	Hint    string           `json:"hint,omitempty"`
	Budgets []vision.Receipt `json:"budgets,omitempty"`
}

func (a *app) judgePictures(args []string, opts vision.PictureOptions, asJSON bool) error {
	var all []judgement
	var refused []error
	for _, arg := range args {
		m, err := a.readPicture(arg)
		j := judgement{File: m.Name}
		if err == nil {
			if j.Budgets, err = vision.Preview(m.Data, resize.Budgets(), opts); err != nil {
				err = fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		switch {
		case err != nil:
			j.Error, j.Hint = err.Error(), pictureHint(err)
			refused = append(refused, err)
			if len(args) > 1 && !asJSON {
				a.report(err) // each with its own hint
			}
		case !asJSON:
			a.printJudgement(j)
		}
		all = append(all, j)
	}
	if asJSON {
		if err := json.NewEncoder(a.stdout).Encode(all); err != nil {
			return err
		}
	}
	if len(refused) > 0 && len(args) > 1 {
		return fmt.Errorf("%d of %d pictures are refused", len(refused), len(args))
	}
	return errors.Join(refused...)
}

func (a *app) printJudgement(j judgement) {
	r := j.Budgets[0]
	fmt.Fprintf(a.stdout, "%s: %s, %d×%d", j.File, r.Format, r.Width, r.Height)
	if r.Orientation > 1 {
		fmt.Fprintf(a.stdout, ", orientation %d", r.Orientation)
	}
	if r.Alpha != "none" {
		fmt.Fprintf(a.stdout, ", transparency: %s", r.Alpha)
	}
	fmt.Fprintln(a.stdout)
	for _, note := range r.Notes {
		fmt.Fprintf(a.stdout, "  %s\n", note)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "  budget\ttokens\tprepared\tshrink\t")
	for _, r := range j.Budgets {
		fmt.Fprintf(w, "  %d\t%d\t%d×%d\t%.2f\t\n", r.Budget, r.SoftTokens, r.ProcessedWidth, r.ProcessedHeight, r.Shrink)
	}
	w.Flush()
}
