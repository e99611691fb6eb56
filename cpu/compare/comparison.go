//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/fieldfare/fieldfare/residency"
)

// A comparison runs both sides in turn.
type comparison struct {
	options
	out   io.Writer
	probe func(context.Context) (between, error) // c.measure, except in tests
}

// A side is one of the programs that are compared.
type side struct {
	name    string
	command []string
	files   string // what it reads: a file or a folder
	ahead   int    // KiB of read-ahead, 0 leaves the disk as it is
	parse   func(output []byte, prompt int) (rates, error)
}

// rates are what a side reports of its last pass.
type rates struct {
	prefill, decode phase
	about           string
}

// A phase is a measured stretch of work.
type phase struct {
	tokens  int
	seconds float64
	read    int64 // bytes, where the side counts them
}

func (p phase) rate() float64 { return float64(p.tokens) / p.seconds }

// A between is what the machine gives between two runs, in bytes per second.
type between struct {
	memory residency.MemoryRates
	disk   float64
}

// A result is one run with the machine before and after it.
type result struct {
	side          string
	rates         rates
	before, after between
	peak          int64 // of the cgroup in bytes, 0 without a limit
}

// sides lists fieldfare and every way of llama.cpp.
func (c *comparison) sides() []side {
	memory, prompts := c.memory, strconv.Itoa(c.prompt)
	for range c.passes - 1 {
		prompts += "," + strconv.Itoa(c.prompt)
	}
	if c.limit > 0 {
		memory = strconv.FormatInt(c.limit, 10)
	}
	all := []side{{
		name: "fieldfare", files: c.model, parse: parseBench,
		command: append([]string{c.fieldfare, "bench", "--quiet", "--images=false", "--json", "-", "--model", c.model, "--memory", memory,
			"--threads", strconv.Itoa(c.threads), "--prompts", prompts, "--new", strconv.Itoa(c.new + 1)}, c.bench...),
	}}
	for _, way := range c.ways {
		all = append(all, side{
			name: "llama.cpp " + way, files: c.gguf, parse: parseRate, ahead: c.readAhead,
			command: []string{filepath.Join(c.llama, "rate"), c.gguf, way, strconv.Itoa(c.theirs), strconv.Itoa(c.prompt),
				strconv.Itoa(c.new), strconv.Itoa(c.passes)},
		})
	}
	return all
}

func (c *comparison) run(ctx context.Context) error {
	var results []result
	load := loadAverage()
	sides := c.sides()
	before, err := c.probe(ctx)
	if err != nil {
		return err
	}
	for round := range c.rounds {
		for i := range sides {
			fmt.Fprintf(os.Stderr, "compare: round %d of %d, %s\n", round+1, c.rounds, sides[i].name)
			r := result{side: sides[i].name, before: before}
			if r.rates, r.peak, err = c.one(ctx, &sides[i]); err != nil {
				return fmt.Errorf("%s: %w", sides[i].name, err)
			}
			if r.after, err = c.probe(ctx); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "compare: prompt %.2f, decode %.3f tokens/s\n", r.rates.prefill.rate(), r.rates.decode.rate())
			before = r.after
			results = append(results, r)
		}
	}
	return c.write(results, load)
}

// one runs a side once.
func (c *comparison) one(ctx context.Context, s *side) (r rates, peak int64, err error) {
	if s.ahead > 0 {
		restore, err := setReadAhead(s.files, s.ahead)
		if err != nil {
			return r, 0, err
		}
		defer restore()
	}
	var group *cgroup
	if c.limit > 0 {
		// Pages that are there already would be charged to whoever read them, not to this run.
		if err := dropCached(s.files); err != nil {
			return r, 0, err
		}
		if group, err = newCgroup(c.limit); err != nil {
			return r, 0, err
		}
		defer group.remove()
	}
	output, err := execute(ctx, group, s.command)
	if err != nil {
		return r, 0, err
	}
	if group != nil {
		peak = group.peak()
	}
	r, err = s.parse(output, c.prompt)
	return r, peak, err
}

// loadAverage is the system's own, of the last minute: on a machine that others use, no figure counts.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

const (
	memoryProbe = time.Second
	diskProbe   = 3 * time.Second
	diskBlock   = 205 << 14 // an expert of the 26B, 3.36 MB
)

// measure asks the machine for its bandwidth, and under a limit for its disk's.
func (c *comparison) measure(ctx context.Context) (b between, err error) {
	if b.memory, err = residency.ProbeMemory(runtime.GOMAXPROCS(0), memoryProbe); err != nil || c.limit == 0 {
		return b, err
	}
	open := func() (*os.File, error) { return os.Open(c.gguf) }
	probe, err := residency.Probe(ctx, open, residency.ProbeOptions{Block: diskBlock, Budget: diskProbe})
	for _, row := range probe.Rows {
		b.disk = max(b.disk, row.Rate)
	}
	return b, err
}
