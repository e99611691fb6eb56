package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/residency"
)

func (a *app) planCommand() *cobra.Command {
	var (
		f      modelFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "plan [NAME.gturbo]",
		Short: "Show how memory would be divided, without loading the model",
		Long: `plan shows what each part of a model would take of memory, and how fast this machine is expected to be with it.
It reads no weights. The expectation needs a measurement of the disk and the cores, which is taken once and kept.`,
		Example: `  fieldfare plan --memory 3G
  fieldfare plan --memory 16G --max-context 32768 gemma4.gturbo`,
		Args: atMostOneModel(&f),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, path, err := a.planOnly(cmd.Context(), &f, probeMissing)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.stdout).Encode(newPlanReport(path, p))
			}
			_, err = fmt.Fprintf(a.stdout, "%s\n%s%s", path, p.plan, p.reading())
			return err
		},
	}
	f.add(cmd)
	f.images.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// atMostOneModel takes the model's path as an argument too.
func atMostOneModel(f *modelFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 1 && f.model != "" {
			return misuse("%s takes one model, got %d more", cmd.CommandPath(), len(args))
		}
		if len(args) == 1 {
			f.model = args[0]
		}
		return nil
	}
}

// planOnly plans for the model that the flags ask for and loads nothing.
func (a *app) planOnly(ctx context.Context, f *modelFlags, how probing) (*planned, string, error) {
	opts, err := f.options()
	if err != nil {
		return nil, "", err
	}
	path, err := a.locate(ctx, f.model, f.quiet)
	if err != nil {
		return nil, "", err
	}
	p, err := a.plan(ctx, f, path, opts, how)
	return p, path, err
}

// reading says how experts would be read.
func (p *planned) reading() string {
	best := p.machine.Disk.Best
	switch {
	case p.plan.Mapped:
		return "experts are read through the mapping\n"
	case best.Reads == 0:
		return fmt.Sprintf("experts are read through the page cache; %q measures whether that is best\n", "fieldfare doctor")
	case p.cached:
		return fmt.Sprintf("experts are read through the page cache, which has room for all of them; %d in flight\n", best.Reads)
	case best.Uncached:
		return fmt.Sprintf("experts are read past the page cache, %d in flight\n", best.Reads)
	}
	return fmt.Sprintf("experts are read through the page cache, %d in flight\n", best.Reads)
}

// A planReport is the plan for programs. Sizes are bytes.
type planReport struct {
	Path     string           `json:"path"`
	Digest   string           `json:"manifest_sha256"`
	Budget   int64            `json:"budget"`
	Peak     int64            `json:"peak"`
	Clean    int64            `json:"clean_mapped"`
	Slots    int              `json:"slots"`
	Mapped   bool             `json:"mapped"`
	Chunk    int              `json:"chunk"`
	Context  int              `json:"context"`
	Items    map[string]int64 `json:"items"`
	Prefill  residency.Range  `json:"prefill_tokens_per_second"`
	Decode   residency.Range  `json:"decode_tokens_per_second"`
	Measured bool             `json:"measured"`
	Uncached bool             `json:"uncached"`
	Reads    int              `json:"reads_in_flight"`
}

func newPlanReport(path string, p *planned) planReport {
	l := p.plan
	r := planReport{
		Path: path, Digest: p.size.Digest, Budget: l.Budget, Peak: l.Peak(), Clean: l.Total() - l.Footprint(),
		Slots: l.Slots, Mapped: l.Mapped, Chunk: l.Chunk, Context: l.Context, Items: map[string]int64{},
		Prefill: l.Speed.Prefill, Decode: l.Speed.Decode, Measured: l.Speed.Measured,
		Uncached: p.machine.Disk.Best.Uncached && !p.cached && !l.Mapped, Reads: p.machine.Disk.Best.Reads,
	}
	for _, item := range l.Items {
		r.Items[item.Name] = item.Bytes
	}
	return r
}
