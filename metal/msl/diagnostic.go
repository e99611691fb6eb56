package msl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// A diagnostic is one finding of parser or lint.
type diagnostic struct {
	file, rule, msg string
	line            int
	warning         bool
}

func (d diagnostic) String() string {
	severity := "error"
	if d.warning {
		severity = "warning"
	}
	return fmt.Sprintf("%s:%d:1: %s: %s [%s]", d.file, d.line, severity, d.msg, d.rule)
}

func (d diagnostic) problem() driver.Problem {
	return driver.Problem{File: d.file, Line: d.line, Message: fmt.Sprintf("%s [%s]", d.msg, d.rule)}
}

func (u *unit) fail(line int, file, rule, format string, args ...any) {
	u.errs = append(u.errs, diagnostic{file: file, line: line, rule: rule, msg: fmt.Sprintf(format, args...)})
}

func (u *unit) warn(line int, file, rule, format string, args ...any) {
	u.fail(line, file, rule, format, args...)
	u.errs[len(u.errs)-1].warning = true
}

// compileError joins lint findings and a compiler's report.
func compileError(found []diagnostic, report string) error {
	e := &driver.CompileError{}
	var text strings.Builder
	for _, d := range found {
		e.Problems = append(e.Problems, d.problem())
		fmt.Fprintln(&text, d)
	}
	for _, block := range errorBlocks(report) {
		for _, p := range driver.ParseProblems(block) {
			p = blame(p, block)
			e.Problems = append(e.Problems, p)
			fmt.Fprintf(&text, "%s:%d:1: error: %s\n", p.File, p.Line, p.Message)
		}
	}
	if len(e.Problems) == 0 {
		text.WriteString(report)
	}
	e.Text = text.String()
	return e
}

var noteLine = regexp.MustCompile(`(?m)^(\S[^:\n]*):(\d+):\d+: note: .*requested here$`)

// blame moves a problem in the shim to the line of the source that called for it.
func blame(p driver.Problem, block string) driver.Problem {
	if !fromShim(p.File) {
		return p
	}
	for _, m := range noteLine.FindAllStringSubmatch(block, -1) {
		if !fromShim(m[1]) {
			p.File = m[1]
			p.Line, _ = strconv.Atoi(m[2])
			break
		}
	}
	return p
}
