package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/residency"
)

func (a *app) doctorCommand() *cobra.Command {
	var (
		f       modelFlags
		asJSON  bool
		onMetal bool
	)
	cmd := &cobra.Command{
		Use:   "doctor [NAME.gturbo]",
		Short: "Measure this machine and say what limits the model on it",
		Long: `doctor measures the disk in pieces of an expert, as it is read, and the cores with the model's own
kernels, for about ten seconds, and compares them with what the machine could do. It names what bounds prompt and
answer under the current plan.
The measurement is kept for chat, serve and plan.`,
		Args: atMostOneModel(&f),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onMetal {
				return a.doctorMetal(cmd.Context())
			}
			p, path, err := a.planOnly(cmd.Context(), &f, probeAll)
			if err != nil {
				return err
			}
			opts, err := f.options()
			if err != nil {
				return err
			}
			d := diagnosis{planned: p, path: path, backend: opts.Backend.Name()}
			if asJSON {
				return json.NewEncoder(a.stdout).Encode(d.report())
			}
			return d.write(a.stdout)
		},
	}
	f.add(cmd)
	f.images.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().BoolVar(&onMetal, "metal", false, "check every kernel of the Apple GPU backend instead, and print what a report needs")
	return cmd
}

// A diagnosis sets what is achieved against what is possible.
type diagnosis struct {
	*planned
	path, backend string
}

// achieved is what the engine's way of reading reaches, possible the fastest that any way reached.
func (d *diagnosis) disk() (achieved, possible float64) {
	for _, row := range d.machine.Disk.Rows {
		possible = max(possible, row.Rate)
	}
	return d.machine.Disk.Best.Rate, possible
}

// A bottleneck says what most of a token's time goes to, and its share.
type bottleneck struct {
	Is    string  `json:"is"`
	Share float64 `json:"share"`
}

// bound tells what limits tokens that come at the rate of full overlap, when none would come at a lower one.
func bound(read, compute float64, work string) bottleneck {
	all := read + compute
	if all == 0 {
		return bottleneck{Is: work, Share: 1}
	}
	if read > compute {
		return bottleneck{Is: "the disk", Share: read / all}
	}
	return bottleneck{Is: work, Share: compute / all}
}

func (d *diagnosis) bottlenecks() (prompt, answer bottleneck) {
	s := d.plan.Speed
	return bound(s.PrefillCost.Read, s.PrefillCost.Compute, "arithmetic"), bound(s.DecodeCost.Read, s.DecodeCost.Compute, d.decodeWork())
}

// decodeWork tells whether decoding is near what memory gives, or held up by the kernels.
func (d *diagnosis) decodeWork() string {
	if c := d.machine.Cores; c.Weights >= 0.6*c.Memory.Best {
		return "memory bandwidth"
	}
	return "arithmetic"
}

func (d *diagnosis) write(out io.Writer) error {
	c := d.machine.Cores
	achieved, possible := d.disk()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", d.path)
	fmt.Fprintf(w, "kernels\t%s\n", d.backend)
	for _, row := range d.machine.Disk.Rows {
		fmt.Fprintf(w, "disk, %s\t%s/s\t%.2f cores busy\n", way(row.Uncached, row.Reads), size(int64(row.Rate)), row.CPU)
	}
	if d.machine.Disk.Refused != "" {
		fmt.Fprintf(w, "disk, past the page cache\tnot possible\t%s\n", d.machine.Disk.Refused)
	}
	fmt.Fprintf(w, "disk, as experts are read\t%s/s\t%.0f %% of the fastest way; pieces of %s, %s\n",
		size(int64(achieved)), 100*achieved/possible, size(int64(residency.PieceSize(d.size.Memory.Stride))), way(d.machine.Disk.Best.Uncached, d.machine.Disk.Best.Reads))
	fmt.Fprintf(w, "memory, only read\t%s/s\tmostly %s/s\n", size(int64(c.Memory.Best)), size(int64(c.Memory.Typical)))
	fmt.Fprintf(w, "memory, as decoding reads it\t%s/s\t%.0f %% of the best\n", size(int64(c.Weights)), 100*c.Weights/c.Memory.Best)
	fmt.Fprintf(w, "prompt, if nothing had to be read\t%.1f tokens/s\n", c.Rows)
	if err := w.Flush(); err != nil {
		return err
	}
	prompt, answer := d.bottlenecks()
	_, err := fmt.Fprintf(out, "\n%s%s\nprompt is bound by %s (%.0f %% of the work), answer by %s (%.0f %%)\n",
		d.plan, d.reading(), prompt.Is, 100*prompt.Share, answer.Is, 100*answer.Share)
	return err
}

func way(uncached bool, reads int) string {
	if uncached {
		return fmt.Sprintf("past the page cache, %d in flight", reads)
	}
	return fmt.Sprintf("through the page cache, %d in flight", reads)
}

// A doctorReport is the diagnosis for programs. Rates are bytes per second.
type doctorReport struct {
	Kernels string     `json:"kernels"`
	Disk    diskRates  `json:"disk"`
	Cores   coreRates  `json:"cores"`
	Plan    planReport `json:"plan"`
	Prompt  bottleneck `json:"prompt_bound_by"`
	Answer  bottleneck `json:"answer_bound_by"`
}

func (d *diagnosis) report() doctorReport {
	prompt, answer := d.bottlenecks()
	return doctorReport{
		Kernels: d.backend, Disk: d.machine.Disk, Cores: d.machine.Cores, Plan: newPlanReport(d.path, d.planned),
		Prompt: prompt, Answer: answer,
	}
}
