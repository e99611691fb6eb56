// Command fieldfare runs Gemma 4 26B-A4B in about 2 GB of memory: in a terminal, in scripts, as a local server.
//
// This package is wiring: flags become the options of the packages below, their results become text and exit
// statuses. main.go starts, root.go lists the commands, report.go says what went wrong.
package main

import (
	"context"
	"io"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/fieldfare/fieldfare/gturbo/lease"
)

// cores is the number of processors that the system grants this process. realMain raises GOMAXPROCS above it.
var cores = runtime.GOMAXPROCS(0)

// readers is how many goroutines may sit in reads without keeping a processor of Go's from one that computes: it would
// get it back only when the scheduler's watchdog comes round (docs/experiments.md, E9).
const readers = 2

func main() { os.Exit(realMain()) }

// realMain is main with the exit status as its result, for tests that run the program inside the test binary.
func realMain() int {
	runtime.GOMAXPROCS(cores + readers)
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		stdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		stderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	return a.run(context.Background(), os.Args[1:])
}

// An app is one run of the program: where it reads and writes.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// stdinTerminal and stderrTerminal say that a person is there: to be asked, to watch a line redraw.
	stdinTerminal, stderrTerminal bool
	// inUse keeps installers and repairs away from the running model's files until the process ends.
	inUse *lease.Lease
	// ending, unless nil, completes what a command writes beside its answer, after the command.
	ending func() error
}

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitMisuse = 2
)

func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if a.ending != nil {
		if late := a.ending(); err == nil {
			err = late
		}
	}
	return a.report(err)
}
