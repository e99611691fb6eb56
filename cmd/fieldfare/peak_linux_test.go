package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func init() { commands["peakof"] = peakOf }

// peakOf runs its arguments and writes the most memory that they held, in bytes, as its last line. It stands between the
// test and the program because Linux counts towards a process what its parent held when it was forked, and a test
// process holds more than a small model.
func peakOf() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("\n%d\n", cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
}

// The system's own count of the most memory that a run held is no more than the plan says, which is no more than the
// budget.
func TestPeakStaysInsideTheBudget(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, watcher := filepath.Join(dir, "fieldfare"), filepath.Join(dir, "peakof")
	if err := os.Symlink(self, watcher); err != nil {
		t.Fatal(err)
	}
	// The program as it ships: under the race detector this test's own binary holds several times its memory.
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(args ...string) (out []byte, peak int64) {
		t.Helper()
		cmd := exec.Command(watcher, append([]string{program}, args...)...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
		cmd.Stderr = os.Stderr
		if out, err = cmd.Output(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		out = bytes.TrimRight(out, "\n")
		end := bytes.LastIndexByte(out, '\n')
		if peak, err = strconv.ParseInt(string(out[end+1:]), 10, 64); err != nil {
			t.Fatal(err)
		}
		return out[:end], peak
	}
	thin := filepath.Join(dir, "thin.gturbo")
	run("dev", "synth", "--quiet", "--thin", "--output", thin)
	for _, memory := range []string{"120M", "150M", "1G"} {
		var plan planReport
		out, _ := run("plan", "--quiet", "--json", "--memory", memory, "--model", thin)
		if err := json.Unmarshal(out, &plan); err != nil {
			t.Fatal(err)
		}
		budget, err := parseSize(memory)
		if err != nil {
			t.Fatal(err)
		}
		_, peak := run("run", "--quiet", "--memory", memory, "--model", thin, "--max-new", "8", "--prompt", "How large?")
		t.Logf("%s: %d slots, mapped %v: planned %d, peak %d", memory, plan.Slots, plan.Mapped, plan.Peak, peak)
		if plan.Peak > budget || peak > plan.Peak {
			t.Errorf("budget %d, planned %d, the system counts %d", budget, plan.Peak, peak)
		}
	}
}

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]int64{
		"2G": 2 << 30, "3500M": 3500 << 20, "1.5GiB": 3 << 29, "64k": 64 << 10, "1T": 1 << 40, "12345": 12345, "2gb": 2 << 30,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1G", "0", "2X", "1e30G", "NaN", "inf"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}
