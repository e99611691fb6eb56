package msl

import (
	"fmt"

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
