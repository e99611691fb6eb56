package driver

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	// ErrUnavailable: there is no such device, or its libraries are missing.
	ErrUnavailable = errors.New("no device")
	// ErrTimeout: the GPU gave up on a command buffer that ran too long.
	ErrTimeout = errors.New("gpu timeout")
	// ErrOutOfMemory: an allocation failed, or the system could not keep a command buffer's memory resident.
	ErrOutOfMemory = errors.New("out of gpu memory")
	// ErrDeviceLost: the GPU was reset or removed, or this process may not use it any more.
	ErrDeviceLost = errors.New("gpu lost")
	// ErrPageFault: a kernel touched memory outside its buffers.
	ErrPageFault = errors.New("gpu page fault")
	// ErrExecution: the work failed for another reason, which the message gives.
	ErrExecution = errors.New("gpu execution failed")
	// ErrNoFunction: the library has no kernel of that name.
	ErrNoFunction = errors.New("no such kernel")
)

// A CompileError is what a compiler said about MSL.
type CompileError struct {
	Problems []Problem
	// Text is the compiler's whole output.
	Text string
}

// A Problem is one message of a compiler, at a line of the source.
type Problem struct {
	File    string
	Line    int
	Message string
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message) }

func (e *CompileError) Error() string {
	if len(e.Problems) == 0 {
		return "compile msl: " + strings.TrimSpace(e.Text)
	}
	if more := len(e.Problems) - 1; more > 0 {
		return fmt.Sprintf("compile msl: %v (and %d more)", e.Problems[0], more)
	}
	return fmt.Sprintf("compile msl: %v", e.Problems[0])
}

var problemLine = regexp.MustCompile(`(?m)^(\S[^:\n]*):(\d+):\d+: (?:fatal )?error: (.*)$`)

// ParseProblems finds the errors in a compiler's output: lines of the form "file:line:column: error: message".
func ParseProblems(text string) []Problem {
	var list []Problem
	for _, m := range problemLine.FindAllStringSubmatch(text, -1) {
		line, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		list = append(list, Problem{File: m[1], Line: line, Message: m[3]})
	}
	return list
}
