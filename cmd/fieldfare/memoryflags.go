package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/cpu"
	"github.com/fieldfare/fieldfare/residency"
)

// memoryFlags divide the memory that a model may take.
type memoryFlags struct {
	size   string
	budget int64 // size in bytes, 0 for the default plan
	// conversations bounds the KV caches of all conversations, 0 for a command that has one.
	conversations int64
}

func (f *memoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.size, "memory", "", "all that the process may hold, e.g. 2G or 3500M (default: 16 experts a layer, about 3 GiB)")
}

// parse reads --memory.
func (f *memoryFlags) parse() error {
	if f.size == "" {
		return nil
	}
	var err error
	if f.budget, err = parseSize(f.size); err != nil {
		return misuse("--memory: %v", err)
	}
	return nil
}

// parseSize reads a number of bytes with the unit K, M, G or T of 1024, 1024², …; iB and B may follow.
func parseSize(s string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(s)), "B"), "I")
	unit := 1.0
	if n := len(number); n > 0 {
		if at := strings.IndexByte("KMGT", number[n-1]); at >= 0 {
			unit, number = math.Ldexp(1, 10*(at+1)), number[:n-1]
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if v *= unit; err != nil || !(v >= 1 && v < 1<<60) {
		return 0, fmt.Errorf("%q is no size: want a number and K, M, G or T, e.g. 2G or 3500M", s)
	}
	return int64(v), nil
}

// A planned model is what is known of one before it is loaded.
type planned struct {
	size    *core.Size
	memory  residency.Memory
	machine machine
	plan    *residency.Plan
	// cached says that the page cache can hold all experts beside the plan.
	cached bool
}

// plan divides memory for the model at path as the flags ask, within what the machine can spare.
func (a *app) plan(ctx context.Context, f *modelFlags, path string, opts core.Options, how probing) (*planned, error) {
	p := &planned{}
	var err error
	if p.size, err = core.ReadSize(ctx, path, opts); err != nil {
		return nil, err
	}
	if p.memory, err = residency.ReadMemory(); err != nil {
		return nil, err
	}
	if p.machine, err = a.measured(ctx, f, how, opts.Backend, p.size); err != nil {
		return nil, err
	}
	if n := f.memory.conversations; n > 0 { // the one that runs is planned apart
		p.size.Memory.Kept = max(0, n-oneConversation(&p.size.Memory))
	}
	spare := p.memory.Spare()
	p.plan, err = residency.MakePlan(p.size.Memory, residency.Wish{
		Budget: f.memory.budget, Spare: spare, Slots: f.slots, Chunk: f.prefillChunk, Context: f.maxContext,
		Machine: p.machine.rates(),
	})
	if err != nil {
		return nil, planError(err)
	}
	p.cached = p.memory.Limit == 0 && spare-p.plan.Peak() > p.size.Experts
	return p, nil
}

// oneConversation is about what a conversation of the default plan takes.
func oneConversation(m *residency.Model) int64 {
	const context, chunk = 4096, 128
	n := int64(min(context, m.MaxContext))
	return n*m.KVPosition + min(n, int64(m.Window-1+chunk))*m.KVRow
}

func planError(err error) error {
	switch {
	case errors.Is(err, residency.ErrBudget):
		return withHint(&misuseError{err}, "give --memory more, close other programs, or shrink --max-context; \"fieldfare plan\" shows the sum")
	case errors.Is(err, residency.ErrOptions):
		return &misuseError{err}
	}
	return err
}

// apply sets the options that the plan decides.
func (p *planned) apply(o *core.Options, f *modelFlags) {
	o.Experts.Slots, o.Experts.Mapped = p.plan.Slots, p.plan.Mapped
	o.PrefillChunk, o.MaxContext = p.plan.Chunk, p.plan.Context
	if o.RewindBytes = p.plan.Saved; o.RewindBytes == 0 {
		o.RewindBytes = -1
	}
	if best := p.machine.Disk.Best; best.Reads > 0 && !p.plan.Mapped {
		o.Experts.Reads = best.Reads
		// What the page cache will hold is read from there faster than from any disk.
		o.Experts.Uncached = best.Uncached && !p.cached
	}
	// A wrong guess is read for nothing: it has to cost next to no processor time. No Mac has measured it.
	_, onCPU := o.Backend.(*cpu.Backend)
	o.Lookahead = f.lookahead == lookaheadOn || f.lookahead == lookaheadAuto && onCPU && o.Experts.Uncached
}

// short reports whether the machine cannot spare what was asked for; a hundredth is no difference.
func (p *planned) short() bool { return p.plan.Asked-p.plan.Budget > p.plan.Asked/100 }

// summary says in a line or two what the memory bought.
func (p *planned) summary() string {
	l := p.plan
	held := fmt.Sprintf("%d of %d experts a layer", l.Slots, p.size.Config.Experts)
	if l.Mapped {
		held = "all experts mapped"
	}
	text := fmt.Sprintf("%s of memory: %s, chunks of %d, context of %d", size(l.Peak()), held, l.Chunk, l.Context)
	if p.short() {
		text += fmt.Sprintf(" (%s asked for, the machine can spare %s)", size(l.Asked), size(l.Budget))
	}
	if l.Speed.Measured {
		text += fmt.Sprintf("; expected tokens per second: prompt %s, answer %s", l.Speed.Prefill, l.Speed.Decode)
	}
	return text
}
