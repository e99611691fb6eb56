//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// errOutput: a program does not print what it should.
var errOutput = errors.New("unexpected output")

// execute runs a command, inside group if there is one, and returns what it prints.
func execute(ctx context.Context, group *cgroup, command []string) ([]byte, error) {
	if group != nil {
		command = append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, group.procs()}, command...)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return output, err
}

// parseBench reads the rows of fieldfare bench; the last ones of that prompt count.
func parseBench(output []byte, prompt int) (rates, error) {
	var rows []struct {
		Phase   string  `json:"phase"`
		Prompt  int     `json:"prompt"`
		Tokens  int     `json:"tokens"`
		Seconds float64 `json:"seconds"`
		Read    int64   `json:"bytes_needed"`
		Backend string  `json:"backend"`
		Slots   int     `json:"slots"`
		Mapped  bool    `json:"mapped"`
		Chunk   int     `json:"chunk"`
	}
	if err := json.Unmarshal(output, &rows); err != nil {
		return rates{}, fmt.Errorf("%w: %w", errOutput, err)
	}
	var r rates
	for _, row := range rows {
		p := phase{row.Tokens, row.Seconds, row.Read}
		switch {
		case row.Prompt != prompt:
		case row.Phase == "prefill":
			r.prefill = p
		case row.Phase == "decode":
			r.decode = p
		}
		held := fmt.Sprintf("%d slots", row.Slots)
		if row.Mapped {
			held = "mapped"
		}
		r.about = fmt.Sprintf("%s, %s, chunks of %d", row.Backend, held, row.Chunk)
	}
	return r, r.check()
}

// parseRate reads the lines of llama/rate; the last one counts.
func parseRate(output []byte, prompt int) (rates, error) {
	var r rates
	for d := json.NewDecoder(bytes.NewReader(output)); ; {
		var pass struct {
			Prompt  int     `json:"prompt"`
			Prefill float64 `json:"prompt_seconds"`
			New     int     `json:"new"`
			Decode  float64 `json:"decode_seconds"`
			Load    float64 `json:"load_seconds"`
		}
		switch err := d.Decode(&pass); {
		case errors.Is(err, io.EOF):
			return r, r.check()
		case err != nil:
			return r, fmt.Errorf("%w: %w", errOutput, err)
		case pass.Prompt == prompt:
			r.prefill = phase{tokens: pass.Prompt, seconds: pass.Prefill}
			r.decode = phase{tokens: pass.New, seconds: pass.Decode}
			r.about = fmt.Sprintf("loaded in %.0f s", pass.Load)
		}
	}
}

func (r *rates) check() error {
	if r.prefill.tokens < 1 || r.decode.tokens < 1 || !(r.prefill.seconds > 0) || !(r.decode.seconds > 0) {
		return fmt.Errorf("no prompt or no answer was measured: %w", errOutput)
	}
	return nil
}
