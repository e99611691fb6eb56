//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/residency"
)

// script writes a program that logs its arguments and prints output.
func script(t *testing.T, name, log, output string) {
	t.Helper()
	text := "#!/bin/sh\necho \"${0##*/} $*\" >>'" + log + "'\ncat <<'END'\n" + output + "\nEND\n"
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

const (
	benchOutput = `[{"phase":"prefill","prompt":10,"tokens":10,"seconds":5,"bytes_needed":0,"backend":"cpu (x)","mapped":true,"chunk":128},
{"phase":"decode","prompt":10,"tokens":4,"seconds":4},
{"phase":"prefill","prompt":10,"tokens":10,"seconds":0.5,"backend":"cpu (x)","mapped":true,"chunk":128},
{"phase":"decode","prompt":10,"tokens":4,"seconds":0.25,"backend":"cpu (x)","mapped":true,"chunk":128}]`
	rateOutput = `{"load_seconds":3,"prompt":10,"prompt_seconds":9,"new":4,"decode_seconds":9}
{"load_seconds":3,"prompt":10,"prompt_seconds":1,"new":4,"decode_seconds":0.5}`
)

func TestSidesRunInTurnAndTheLastPassCounts(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script(t, filepath.Join(dir, "fieldfare"), log, benchOutput)
	script(t, filepath.Join(dir, "rate"), log, rateOutput)
	opts, err := parseFlags([]string{"-fieldfare", filepath.Join(dir, "fieldfare"), "-llama", dir, "-model", "m.gturbo", "-gguf", "m.gguf",
		"-prompt", "10", "-new", "4", "-threads", "3", "-memory", "5G", "--", "--trust-receipt"})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	c := &comparison{options: *opts, out: &out, probe: func(context.Context) (between, error) {
		return between{memory: residency.MemoryRates{Best: 50e9, Typical: 40e9}}, nil
	}}
	if err := c.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	ran, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	round := "fieldfare bench --quiet --images=false --json - --model m.gturbo --memory 5G --threads 3 --prompts 10,10 --new 5 " +
		"--trust-receipt\nrate m.gguf repacked 3 10 4 2\n"
	if string(ran) != round+round {
		t.Errorf("ran\n%s", ran)
	}
	for _, want := range []string{
		"fieldfare         20.00        16.000", "llama.cpp repacked         10.00         8.000",
		"of what memory gives: decode 0.88 (0.88 to 0.88), 0.70 (0.70 to 0.70) of the best moment", "fieldfare / llama.cpp repacked: prompt 2.00 (2.00 to 2.00), decode 2.00 (2.00 to 2.00)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	run := func(side string, seconds float64) result {
		p := phase{tokens: 10, seconds: seconds}
		return result{side: side, rates: rates{prefill: p, decode: p}}
	}
	prompt, decode := ratios([]result{
		run("fieldfare", 1), run("llama.cpp mapped", 5), run("llama.cpp repacked", 2), run("fieldfare", 2), run("llama.cpp repacked", 6),
	}, "llama.cpp repacked")
	if got := spread(prompt) + ", " + spread(decode); got != "2.50 (2.00 to 3.00), 2.50 (2.00 to 3.00)" {
		t.Error(got)
	}
}

func TestOutputWithoutAMeasurementIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		parse  func([]byte, int) (rates, error)
		output string
	}{
		"bench: no JSON":         {parseBench, "fieldfare"},
		"bench: another prompt":  {parseBench, strings.ReplaceAll(benchOutput, `"prompt":10`, `"prompt":11`)},
		"bench: no rows":         {parseBench, "[]"},
		"rate: nothing":          {parseRate, ""},
		"rate: no JSON":          {parseRate, rateOutput + "\nkilled"},
		"rate: no time":          {parseRate, `{"prompt":10,"new":4}`},
		"rate: another prompt":   {parseRate, strings.ReplaceAll(rateOutput, `"prompt":10`, `"prompt":11`)},
		"bench: only the prompt": {parseBench, `[{"phase":"prefill","prompt":10,"tokens":10,"seconds":5}]`},
	} {
		if r, err := c.parse([]byte(c.output), 10); !errors.Is(err, errOutput) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestFlagsSayEveryProblem(t *testing.T) {
	_, err := parseFlags([]string{"-model", "m", "-gguf", "g", "-ways", "mapped,copied", "-rounds", "0", "-limit", "3"})
	for _, want := range []string{"-llama is missing", `"copied"`, "-rounds is at least 1", `-limit "3"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	o, err := parseFlags([]string{"-model", "m", "-gguf", "g", "-llama", "l", "-limit", "2.5G", "-threads", "2", "-llama-threads", "1"})
	if err != nil || o.limit != 5<<29 || o.passes != 1 || o.theirs != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestCachedFilesAreDropped(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dropCached(dir); err != nil {
		t.Error(err)
	}
	if err := dropCached(filepath.Join(dir, "b")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that the file does not exist", err)
	}
}
