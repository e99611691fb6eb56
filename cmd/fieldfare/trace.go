package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency/replay"
)

// traceExperts writes the router's choices of rt to a file until stop is called, once.
func traceExperts(rt *core.Runtime, name string) (stop func() error, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("trace of experts: %w", err)
	}
	cfg := rt.Config()
	w := replay.NewWriter(file, replay.Header{Layers: len(cfg.Layers), Experts: cfg.Experts, TopK: cfg.TopK})
	remove, err := rt.Observe(&core.Observer{Route: func(l gturbo.LayerID, b *core.Batch, r core.Routing) {
		w.Add(l, len(b.Tokens), r.Experts)
	}})
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() error {
		remove()
		if err := errors.Join(w.Close(), file.Close()); err != nil {
			return fmt.Errorf("trace of experts: %w", err)
		}
		return nil
	}, nil
}

func (a *app) replayCommand() *cobra.Command {
	var (
		slots []int
		after float64
	)
	cmd := &cobra.Command{
		Use:   "replay TRACE...",
		Short: "Try eviction policies on what --trace-experts has written",
		Long: `replay tells for each policy and number of slots how many of the experts wanted would have been in memory. Several
traces count as one run after the other; the first part only teaches the policies.`,
		Example: `  fieldfare chat --trace-experts monday.txt "What is the capital of Peru?"
  fieldfare dev replay --slots 8,16,32 monday.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse("replay takes at least one trace")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for _, n := range slots {
				if n < 1 {
					return misuse("--slots counts from 1, got %d", n)
				}
			}
			if !(after >= 0 && after < 1) {
				return misuse("--learn is a share of the trace, 0 to less than 1, not %v", after)
			}
			return a.replay(args, slots, after)
		},
	}
	cmd.Flags().IntSliceVar(&slots, "slots", []int{8, 16, 32, 64}, "slots per layer to try")
	cmd.Flags().Float64Var(&after, "learn", 0.5, "share of the trace that is not scored")
	return cmd
}

func (a *app) replay(files []string, slots []int, learn float64) error {
	var header replay.Header
	var trace []replay.Fetch
	for i, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		h, fetches, err := replay.Read(file)
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i > 0 && h != header {
			return fmt.Errorf("%s: %+v, the traces before are of %+v: %w", name, h, header, replay.ErrTrace)
		}
		header, trace = h, append(trace, fetches...)
	}
	fmt.Fprintln(a.stdout, "slots,policy,wanted,hits,hit_rate")
	for _, n := range slots {
		for _, r := range replay.Run(header, trace, n, int(learn*float64(len(trace)))) {
			fmt.Fprintf(a.stdout, "%d,%q,%d,%d,%.4f\n", n, r.Policy, r.Wanted, r.Hits, r.HitRate())
		}
	}
	return nil
}
