package residency

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// gib formats bytes as people give budgets.
func gib(n int64) string { return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30)) }

// String is the plan as a table: what is held, both sums, and what to expect.
func (p *Plan) String() string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	note := "budget"
	if p.Asked > 0 {
		note = fmt.Sprintf("all that the machine can spare of the %s asked for", gib(p.Asked))
	}
	fmt.Fprintf(table, "memory\t%10s\t%s\n", gib(p.Budget), note)
	for _, item := range p.Items {
		fmt.Fprintf(table, "  %s\t%10s\t%s\n", item.Name, gib(item.Bytes), item.Detail)
	}
	fmt.Fprintf(table, "  total\t%10s\t%s without clean mapped weights\n", gib(p.Total()), gib(p.Footprint()))
	if p.Encoding > 0 {
		fmt.Fprintf(table, "  with a picture\t%10s\twhile it is encoded\n", gib(p.Encoding))
	}
	table.Flush()
	by := "on an ordinary laptop; this machine was not measured"
	if p.Speed.Measured {
		by = "by the measured disk and cores"
	}
	fmt.Fprintf(&out, "expected %s: prompt %s, answer %s tokens per second\n", by, p.Speed.Prefill, p.Speed.Decode)
	return out.String()
}

// String gives the expectation with its error bar.
func (r Range) String() string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", r.Expected(), r.Low, r.High)
}

// refusal says what the smallest plan would take.
func refusal(least *Plan, budget int64, w Wish) error {
	what := "memory budget"
	if w.Spare > 0 && budget == w.Spare {
		what = "memory to spare"
	}
	var parts []string
	for _, item := range least.Items {
		parts = append(parts, fmt.Sprintf("%s %s", item.Name, gib(item.Bytes)))
	}
	if least.Encoding > least.Total() {
		parts = append(parts, fmt.Sprintf("encoding a picture takes %s in all", gib(least.Encoding)))
	}
	return fmt.Errorf("%s: %s, want at least %s for %d positions (%s): %w",
		what, gib(budget), gib(least.Peak()), least.Context, strings.Join(parts, ", "), ErrBudget)
}
