package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
)

type benchFlags struct {
	model   modelFlags
	prompts []int
	newer   int
	images  bool
	json    string
	csv     string
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure prompt, answer and pictures on this machine",
		Long: `bench runs prompts of random tokens of several lengths and decodes after each, then a picture at every budget. It
writes a table; --csv and --json write rows with machine, build and model for comparisons. The seconds of the
stages and of what is outside them add up to the whole.`,
		Example: `  fieldfare bench --memory 3G --csv before.csv
  fieldfare bench --prompts 512 --new 64 --images=false --json -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bench(cmd.Context(), &f, !cmd.Flags().Changed("prompts"))
		},
	}
	f.model.add(cmd)
	f.model.images.add(cmd)
	flags := cmd.Flags()
	flags.IntSliceVar(&f.prompts, "prompts", []int{128, 512, 1024, 3015}, "tokens of the prompts")
	flags.IntVar(&f.newer, "new", 32, "tokens to decode after each prompt")
	flags.BoolVar(&f.images, "images", true, "measure pictures too, where the model takes them")
	flags.StringVar(&f.csv, "csv", "", "write rows as CSV to a file, - for standard output")
	flags.StringVar(&f.json, "json", "", "write rows as JSON to a file, - for standard output")
	return cmd
}

func (a *app) bench(ctx context.Context, f *benchFlags, usual bool) error {
	if f.newer < 2 {
		return misuse("--new is at least 2, not %d: the first token belongs to the prompt", f.newer)
	}
	for _, n := range f.prompts {
		if n < 1 {
			return misuse("--prompts are of at least one token, not %d", n)
		}
	}
	if f.images {
		f.model.images.wantEveryBudget()
	}
	rt, err := a.load(ctx, &f.model)
	if err != nil {
		return err
	}
	defer rt.Close()
	b := &benchRun{rt: rt, about: aboutRun(rt, &f.model), newer: f.newer}
	for _, n := range f.prompts {
		if usual && n+f.newer > rt.MaxContext() {
			if !f.model.quiet {
				fmt.Fprintf(a.stderr, "fieldfare: a prompt of %d tokens does not fit the context of %d and is left out\n", n, rt.MaxContext())
			}
			continue
		}
		if err := b.prompt(ctx, n); err != nil {
			return err
		}
	}
	if f.images {
		if err := b.pictures(ctx); err != nil {
			return err
		}
	}
	if f.csv != "-" && f.json != "-" {
		if err := b.writeTable(a.stdout); err != nil {
			return err
		}
	}
	return errors.Join(a.writeOut(f.csv, b.writeCSV), a.writeOut(f.json, b.writeJSON))
}

// A cell is a named value of a row. All rows have the same names in the same order.
type cell struct {
	Name  string
	Value any
}

// A benchRun collects rows.
type benchRun struct {
	rt    *core.Runtime
	about []cell // of every row: machine, build, model, plan
	newer int
	rows  [][]cell
}

// aboutRun says what a row was measured on.
func aboutRun(rt *core.Runtime, f *modelFlags) []cell {
	x := rt.Experts()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return []cell{
		{"host", host}, {"system", runtime.GOOS + "/" + runtime.GOARCH}, {"threads", threadsOf(rt.Backend())},
		{"backend", rt.Backend().Name()}, {"build", version()}, {"model", rt.Install().ManifestSHA256()},
		{"memory", f.memory.size}, {"slots", x.Slots}, {"mapped", x.Mapped}, {"uncached", x.Uncached}, {"reads", x.Reads},
		{"policy", x.Policy.String()}, {"lookahead", rt.Lookahead()}, {"chunk", rt.PrefillChunk()}, {"context", rt.MaxContext()},
	}
}

// A measured stretch of work.
type stretch struct {
	phase  string // prefill, decode, image
	prompt int    // tokens before it, or the budget of a picture
	tokens int
	took   time.Duration
	stats  core.Stats
}

// add makes a row of s. "outside" is what of the time no stage accounts for.
func (b *benchRun) add(s stretch) {
	row := []cell{
		{"phase", s.phase}, {"prompt", s.prompt}, {"tokens", s.tokens}, {"seconds", s.took.Seconds()},
		{"tokens_per_second", float64(s.tokens) / s.took.Seconds()},
	}
	for stage := core.StageEmbed; stage <= core.StageReadWait; stage++ {
		row = append(row, cell{stage.String(), s.stats.Stages[stage].Seconds()})
	}
	recall := 0.0
	if s.stats.Chosen > 0 {
		recall = float64(s.stats.Foretold) / float64(s.stats.Chosen)
	}
	x := s.stats.Experts
	row = append(row,
		cell{"outside", (s.took - s.stats.Stages.Total()).Seconds()}, cell{"bytes_read", x.Bytes}, cell{"bytes_needed", x.Needed},
		cell{"disk_busy", x.BusyTime.Seconds()}, cell{"hit_rate", x.HitRate()}, cell{"recall", recall},
	)
	b.rows = append(b.rows, append(row, b.about...))
}

// prompt measures n tokens of prompt, then decoding. The session is fresh; slots are as the row before left them.
func (b *benchRun) prompt(ctx context.Context, n int) error {
	s, err := b.rt.NewSession()
	if err != nil {
		return err
	}
	defer s.Close()
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	p := &core.Prompt{}
	for range n {
		p.Tokens = append(p.Tokens, int32(rng.IntN(b.rt.Config().Vocab)))
	}
	before := b.rt.Stats()
	done, err := s.Prefill(ctx, p, nil)
	if err != nil {
		return err
	}
	between := b.rt.Stats()
	b.add(stretch{"prefill", n, done.Computed, done.Duration, between.Sub(before)})
	opts := core.GenerateOptions{IgnoreEOS: true, MaxTokens: b.newer}
	r, err := s.Generate(ctx, opts, func(core.Token) error { return nil })
	if err != nil {
		return err
	}
	b.add(stretch{"decode", n, r.Tokens - 1, r.Decode, b.rt.Stats().Sub(between)})
	return nil
}
