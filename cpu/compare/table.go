//go:build linux

package main

import (
	"fmt"
	"slices"
	"text/tabwriter"
)

// write prints a row for each run and the load that the machine had before all, then what fieldfare reaches of its bounds, then the ratios.
func (c *comparison) write(results []result, load string) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "run\tprompt tok/s\tdecode tok/s\tmemory GB/s before, after (best)\t")
	if c.limit > 0 {
		fmt.Fprint(w, "disk GB/s before, after\tpeak GB\t")
	}
	fmt.Fprintln(w, " about")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.2f\t%.3f\t%.1f, %.1f (%.1f, %.1f)\t", r.side, r.rates.prefill.rate(), r.rates.decode.rate(),
			r.before.memory.Typical/1e9, r.after.memory.Typical/1e9, r.before.memory.Best/1e9, r.after.memory.Best/1e9)
		if c.limit > 0 {
			fmt.Fprintf(w, "%.2f, %.2f\t%.2f\t", r.before.disk/1e9, r.after.disk/1e9, float64(r.peak)/1e9)
		}
		fmt.Fprintln(w, " "+r.rates.about)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\nprompt of %d, %d decoded; fieldfare with %d threads, llama.cpp with %d; load before all %s\n",
		c.prompt, c.new, c.threads, c.theirs, load)
	c.writeBounds(results)
	for _, way := range c.ways {
		prompt, decode := ratios(results, "llama.cpp "+way)
		fmt.Fprintf(c.out, "fieldfare / llama.cpp %s: prompt %s, decode %s\n", way, spread(prompt), spread(decode))
	}
	return nil
}

// writeBounds sets fieldfare's time against what memory, or under a limit the disk for the bytes that it read, would need.
func (c *comparison) writeBounds(results []result) {
	var typical, best, prefill, decode []float64
	for _, r := range results {
		if r.side != "fieldfare" {
			continue
		}
		perSecond := r.rates.decode.rate() * c.tokenBytes
		typical = append(typical, perSecond/(r.before.memory.Typical+r.after.memory.Typical)*2)
		best = append(best, perSecond/(r.before.memory.Best+r.after.memory.Best)*2)
		if disk := (r.before.disk + r.after.disk) / 2; disk > 0 {
			prefill = append(prefill, float64(r.rates.prefill.read)/disk/r.rates.prefill.seconds)
			decode = append(decode, float64(r.rates.decode.read)/disk/r.rates.decode.seconds)
		}
	}
	if c.limit > 0 {
		fmt.Fprintf(c.out, "fieldfare, share of what the disk allows for its misses: prompt %s, decode %s\n", spread(prefill), spread(decode))
		return
	}
	fmt.Fprintf(c.out, "fieldfare at %.2f GB a token, share of what memory gives: decode %s, %s of the best moment\n",
		c.tokenBytes/1e9, spread(typical), spread(best))
}

// ratios compares the runs of each round: fieldfare's rate over the other side's.
func ratios(results []result, other string) (prompt, decode []float64) {
	var ours rates
	for _, r := range results {
		switch r.side {
		case "fieldfare":
			ours = r.rates
		case other:
			prompt = append(prompt, ours.prefill.rate()/r.rates.prefill.rate())
			decode = append(decode, ours.decode.rate()/r.rates.decode.rate())
		}
	}
	return prompt, decode
}

// spread writes the median with the least and the largest.
func spread(v []float64) string {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	median := (v[(n-1)/2] + v[n/2]) / 2
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median, v[0], v[n-1])
}
