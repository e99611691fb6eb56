package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/chzyer/readline"
)

const converseHelp = `/help         this list
/image FILE   show a picture with the next message; FILE@280 chooses its tokens
/new          forget the conversation
/quit         end (as Ctrl-D)
A line that ends in \ goes on in the next one. Ctrl-C stops an answer.`

// converse talks with a person, turn by turn, with line editing and a history that is kept between runs.
func (a *app) converse(ctx context.Context, t *talk) error {
	rl, err := readline.NewEx(&readline.Config{
		Prompt: "> ", HistoryFile: historyFile(), HistoryLimit: 1000, DisableAutoSaveHistory: true,
		Stdout: a.stderr, Stderr: a.stderr,
	})
	if err != nil {
		return err
	}
	defer rl.Close()
	fmt.Fprintln(a.stderr, "/help lists the commands, Ctrl-D ends")
	start := len(t.conv.Messages)
	for {
		said, err := readTurn(rl)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, readline.ErrInterrupt):
			if said == "" {
				return nil
			}
			continue
		case err != nil:
			return err
		}
		switch strings.TrimSpace(said) {
		case "":
			continue
		case "/help":
			fmt.Fprintln(a.stderr, converseHelp)
			continue
		case "/new":
			t.conv.Messages, t.media, t.pending = t.conv.Messages[:start], nil, nil
			continue
		case "/quit", "/exit":
			return nil
		}
		rl.SaveHistory(strings.ReplaceAll(said, "\n", " "))
		if file, ok := strings.CutPrefix(said, "/image "); ok {
			if err := t.show(ctx, strings.TrimSpace(file)); err != nil {
				a.report(err)
			}
			continue
		}
		shown := len(t.media)
		t.say(said)
		if err := t.ask(ctx); err != nil && !errors.Is(err, errStopped) {
			t.unsay(shown)
			a.report(err) // the conversation goes on without this turn
		}
	}
}

// readTurn reads a line and those that it goes on in.
func readTurn(rl *readline.Instance) (string, error) {
	rl.SetPrompt("> ")
	var lines []string
	for {
		line, err := rl.Readline()
		if err != nil {
			return strings.Join(append(lines, line), "\n"), err
		}
		more, goesOn := strings.CutSuffix(line, `\`)
		if !goesOn {
			return strings.Join(append(lines, line), "\n"), nil
		}
		lines = append(lines, more)
		rl.SetPrompt(". ")
	}
}

// historyFile is where lines are kept, or nothing when there is no place for it.
func historyFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "fieldfare")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return filepath.Join(dir, "history")
}
