//go:build linux

// Command compare measures fieldfare and llama.cpp in turn on models of the same shapes and prints rates and their ratios.
// docs/experiments.md, E13, says how to make the models and the driver of llama.cpp (llama/build.sh), and what came out.
//
// Both sides read a prompt of random tokens and decode greedily, each in a process of its own, in turn, so that they meet
// the same minutes of a shared machine; memory bandwidth, and under a limit the disk's rate, is measured between them.
// With -limit each runs in a memory cgroup, page cache included, with its files dropped from the cache before: root only.
//
// It refuses to know either program beyond its output. Start reading at comparison.run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
)

// options are what the flags say.
type options struct {
	fieldfare, model string
	llama, gguf      string
	ways             []string // repacked, mapped
	memory           string   // --memory of fieldfare without a limit
	limit            int64    // of a run's cgroup in bytes, 0 for none
	prompt, new      int
	threads, theirs  int
	rounds, passes   int
	readAhead        int     // KiB, 0 leaves the disk as it is
	tokenBytes       float64 // of weights that fieldfare reads for a token
	bench            []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	opts, err := parseFlags(os.Args[1:])
	if err == nil {
		c := &comparison{options: *opts, out: os.Stdout}
		c.probe = c.measure
		err = c.run(ctx)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare: error:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (*options, error) {
	o := &options{}
	var ways, limit string
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.StringVar(&o.fieldfare, "fieldfare", "fieldfare", "the program")
	flags.StringVar(&o.model, "model", "", "its model, a .gturbo folder")
	flags.StringVar(&o.llama, "llama", "", "the folder that llama/build.sh made")
	flags.StringVar(&o.gguf, "gguf", "", "llama.cpp's model")
	flags.StringVar(&ways, "ways", "repacked", "how llama.cpp loads: repacked, mapped, or both with a comma")
	flags.StringVar(&o.memory, "memory", "20G", "--memory of fieldfare without -limit")
	flags.StringVar(&limit, "limit", "", "memory limit of each run, e.g. 3G")
	flags.IntVar(&o.prompt, "prompt", 512, "tokens of the prompt")
	flags.IntVar(&o.new, "new", 64, "tokens to decode")
	flags.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "threads of both")
	flags.IntVar(&o.theirs, "llama-threads", 0, "threads of llama.cpp, where other than -threads")
	flags.IntVar(&o.rounds, "rounds", 2, "how often each side runs")
	flags.IntVar(&o.passes, "passes", 0, "passes of a run, the last counts (default 2, with -limit 1)")
	flags.IntVar(&o.readAhead, "read-ahead", 0, "KiB that the disk reads ahead during llama.cpp's runs (default: as it is)")
	flags.Float64Var(&o.tokenBytes, "token-bytes", 2.19e9, "bytes of weights that fieldfare reads for a token")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: compare [flags] -model DIR -gguf FILE -llama DIR [-- flags of fieldfare bench]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.bench, o.ways = flags.Args(), strings.Split(ways, ",")
	var err error
	if limit != "" {
		o.limit, err = parseGiB(limit)
	}
	if o.passes == 0 {
		o.passes = 2
		if o.limit > 0 {
			o.passes = 1
		}
	}
	if o.theirs == 0 {
		o.theirs = o.threads
	}
	return o, errors.Join(err, o.validate())
}

func (o *options) validate() error {
	var problems []error
	for name, value := range map[string]string{"-model": o.model, "-gguf": o.gguf, "-llama": o.llama} {
		if value == "" {
			problems = append(problems, fmt.Errorf("%s is missing", name))
		}
	}
	for name, n := range map[string]int{
		"-prompt": o.prompt, "-new": o.new, "-threads": o.threads, "-llama-threads": o.theirs, "-rounds": o.rounds, "-passes": o.passes,
	} {
		if n < 1 {
			problems = append(problems, fmt.Errorf("%s is at least 1, not %d", name, n))
		}
	}
	for _, way := range o.ways {
		if way != "repacked" && way != "mapped" {
			problems = append(problems, fmt.Errorf("-ways are repacked and mapped, not %q", way))
		}
	}
	return errors.Join(problems...)
}

// parseGiB reads a size like 3G or 2.5G, in units of 2^30 bytes.
func parseGiB(s string) (int64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "G"), 64)
	if err != nil || !strings.HasSuffix(s, "G") || !(v > 0 && v < 1<<20) {
		return 0, fmt.Errorf("-limit %q: want a number of GiB with G, e.g. 3G", s)
	}
	return int64(v * (1 << 30)), nil
}
