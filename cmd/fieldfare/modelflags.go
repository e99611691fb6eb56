package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/gturbo/lease"
	"github.com/fieldfare/fieldfare/residency"
)

// Values of --router-lookahead.
const (
	lookaheadAuto = "auto"
	lookaheadOn   = "on"
	lookaheadOff  = "off"
)

// modelFlags choose a model and how it is held in memory; every command that runs one has them.
type modelFlags struct {
	model        string
	maxContext   int
	slots        int
	policy       string
	lookahead    string
	trace        string
	prefillChunk int
	backend      string
	tensors      bool
	kernels      string
	threads      int
	quiet        bool
	trust        bool
	memory       memoryFlags
	images       imageFlags // of commands that take pictures, which add them themselves

	gpu    core.Backend // once it was opened
	notice string       // why the CPU computes where a GPU was expected
}

func (f *modelFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.model, "model", "", "the .gturbo directory (default: the installed model, else the demo)")
	f.memory.add(cmd)
	flags.IntVar(&f.maxContext, "max-context", 0, "positions of the KV cache (default: what --memory allows, 4096 without)")
	flags.IntVar(&f.slots, "expert-cache-slots", 0, "experts kept in memory per layer, 8 to 128 (default: what --memory allows, 16 without)")
	flags.StringVar(&f.policy, "expert-cache-policy", "lfu", "which expert leaves memory first: lfu or lru")
	flags.StringVar(&f.lookahead, "router-lookahead", lookaheadAuto,
		"read the experts that the next layer will probably choose ahead of time: on, off, or auto, which means on where the "+
			"CPU computes and reads go past the page cache")
	flags.StringVar(&f.trace, "trace-experts", "", "write which experts each layer chooses to a file, for \"fieldfare dev replay\"")
	flags.IntVar(&f.prefillChunk, "prefill-chunk-tokens", 0, "prompt tokens per pass, 1 to 1024 (default: what --memory allows, 128 without)")
	flags.StringVar(&f.backend, "backend", "auto", "what computes: metal (Apple GPUs), cpu, or auto: metal where it works")
	flags.BoolVar(&f.tensors, "metal-tensors", false,
		"read prompts with Metal 4's tensor operations (M5 and newer); answers may then depend on the chunk size")
	flags.StringVar(&f.kernels, "cpu-kernels", "", "force a set of CPU kernels: "+kernelSets())
	flags.IntVar(&f.threads, "threads", 0, "threads that compute (default: what the system grants)")
	flags.BoolVar(&f.trust, "trust-receipt", false, "take the install's own receipt for its expert files instead of hashing each on first use")
	flags.BoolVar(&f.quiet, "quiet", false, "print nothing but the answer and errors")
}

func kernelSets() string {
	text := ""
	for i, name := range cpu.KernelSets() {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

// options turns the flags into core's options; nothing is opened yet.
func (f *modelFlags) options() (core.Options, error) {
	o := core.Options{
		MaxContext:   f.maxContext,
		PrefillChunk: f.prefillChunk,
		Experts:      residency.Options{Slots: f.slots},
		Open:         gturbo.OpenOptions{TrustReceipt: f.trust},
	}
	problems := []error{f.memory.parse()}
	switch f.lookahead {
	case lookaheadAuto, lookaheadOn, lookaheadOff:
	default:
		problems = append(problems, misuse("--router-lookahead is on, off or auto, not %q", f.lookahead))
	}
	switch f.policy {
	case residency.LFU.String():
	case residency.LRU.String():
		o.Experts.Policy = residency.LRU
	default:
		problems = append(problems, misuse("--expert-cache-policy is lfu or lru, not %q", f.policy))
	}
	if f.slots != 0 && (f.slots < 8 || f.slots > 128) {
		problems = append(problems, misuse("--expert-cache-slots is 8 to 128, not %d", f.slots))
	}
	backend, err := cpu.New(cpu.Options{Threads: cmp.Or(f.threads, cores), Kernels: f.kernels})
	if err != nil {
		problems = append(problems, &misuseError{fmt.Errorf("CPU backend: %w", err)})
	}
	if o.Backend, err = f.pickBackend(backend); err != nil {
		problems = append(problems, err)
	}
	if o.Extensions, err = f.images.extensions(); err != nil {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// load opens the model that the flags ask for.
func (a *app) load(ctx context.Context, f *modelFlags) (*core.Runtime, error) {
	return a.loadTelling(ctx, f, func(done, total int64) {})
}

// loadTelling is load, and tells progress of the bytes checked.
func (a *app) loadTelling(ctx context.Context, f *modelFlags, progress func(done, total int64)) (*core.Runtime, error) {
	opts, err := f.options()
	if err != nil {
		return nil, err
	}
	path, err := a.locate(ctx, f.model, f.quiet)
	if err != nil {
		return nil, err
	}
	if err := f.images.check(path); err != nil {
		return nil, err
	}
	if a.inUse, err = lease.Use(ctx, path); err != nil {
		return nil, err
	}
	plan, err := a.plan(ctx, f, path, opts, probeMissing)
	if err != nil {
		return nil, err
	}
	plan.apply(&opts, f)
	if !f.quiet && (f.memory.budget > 0 || plan.short()) {
		fmt.Fprintln(a.stderr, "fieldfare: "+plan.summary())
	}
	bar := a.newBar(f.quiet)
	opts.Open.Progress = func(done, total int64) {
		bar.bytes("checking the model", done, total)
		progress(done, total)
	}
	rt, err := core.Load(ctx, path, opts)
	bar.clear()
	if err != nil {
		return nil, err
	}
	if f.trace != "" {
		if a.ending, err = traceExperts(rt, f.trace); err != nil {
			rt.Close()
			return nil, err
		}
	}
	if f.notice != "" {
		fmt.Fprintln(a.stderr, "fieldfare: "+f.notice)
	}
	debug.FreeOSMemory() // what loading left on the heap, before slots and caches fill
	if _, notice := rt.Template(); notice != "" && !f.quiet {
		fmt.Fprintln(a.stderr, "fieldfare: "+notice)
	}
	for _, x := range rt.Extensions() {
		if x.Err == nil {
			continue
		}
		notice, fatal := f.images.failed(x.Err)
		if fatal != nil {
			rt.Close()
			return nil, fatal
		}
		if notice != "" && !f.quiet {
			fmt.Fprintln(a.stderr, "fieldfare: "+notice)
		}
	}
	return rt, nil
}
