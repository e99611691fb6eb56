package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
)

type chatFlags struct {
	model    modelFlags
	sampling samplingFlags
	system   string
	images   []string
	messages string // a file
	thinking bool
	json     bool
}

func (a *app) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [PROMPT]",
		Short: "Answer one prompt, or hold a conversation",
		Long: `chat answers PROMPT and ends; "-" or a pipe takes the prompt from standard input. Without either it holds a
conversation in the terminal.

The answer goes to standard output, everything about it to standard error. Ctrl-C stops the answer, a second one
the program.`,
		Example: `  fieldfare chat "What is the capital of Peru?"
  fieldfare chat --image scene.png "What shape is on the left?"
  fieldfare chat --temperature 0 --json "Count from 1 to 5." | jq -r 'select(.type == "text").text'
  git diff | fieldfare chat --system "Write a commit message for this change." -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse("chat takes one prompt, got %d: quote it", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.chat(cmd.Context(), &f, args) },
	}
	f.model.add(cmd)
	f.model.images.addFiles(cmd, &f.images)
	f.model.images.add(cmd)
	f.sampling.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.messages, "messages-file", "", "answer a conversation in OpenAI's format: an array of messages, or an object with messages and tools; - is standard input")
	flags.StringVar(&f.system, "system", "", "instructions that come before the conversation")
	flags.BoolVar(&f.thinking, "thinking", false, "let the model think first; thoughts go to standard error")
	flags.BoolVar(&f.json, "json", false, "write one JSON object for each event to standard output")
	return cmd
}

func (a *app) chat(ctx context.Context, f *chatFlags, args []string) error {
	generate, err := f.sampling.options()
	if err != nil {
		return err
	}
	o, err := a.opening(f, args)
	if err != nil {
		return err
	}
	sink := a.newSink(f.json, f.model.quiet)
	f.model.images.showPictures(sink)
	rt, err := a.load(ctx, &f.model)
	if err != nil {
		return err
	}
	defer rt.Close()
	session, err := rt.NewSession()
	if err != nil {
		return err
	}
	t := &talk{
		app: a, rt: rt, session: session,
		opts: core.AnswerOptions{Generate: generate, Stop: f.sampling.stop},
		conv: o.conv, media: o.media,
		sink: sink, images: &f.model.images, pending: o.pending,
	}
	t.conv.Thinking = f.thinking
	t.system(f.system)
	if o.prompt != "" {
		t.say(o.prompt)
	}
	if o.oneShot {
		return t.ask(ctx)
	}
	return a.converse(ctx, t)
}

// An opening is what a conversation starts with.
type opening struct {
	conv    text.Conversation
	media   []core.Media // of conv
	pending []core.Media // that go with prompt
	prompt  string
	oneShot bool // one answer, and no person to go on
}

// opening reads everything that is asked before a model is loaded for it.
func (a *app) opening(f *chatFlags, args []string) (o opening, err error) {
	if f.messages != "" {
		return a.openFile(f, args)
	}
	if err := checkStdin(args, f.images); err != nil {
		return o, err
	}
	if o.prompt, o.oneShot, err = a.prompt(args); err != nil {
		return o, err
	}
	if !o.oneShot && f.json {
		return o, misuse("--json needs a prompt: a conversation in the terminal is for people")
	}
	o.pending, err = a.readPictures(f.images, &f.model.images)
	return o, err
}

// prompt returns what was asked on the command line or through a pipe; oneShot is false when a person should be
// asked.
func (a *app) prompt(args []string) (prompt string, oneShot bool, err error) {
	if len(args) == 1 && args[0] != "-" {
		prompt = args[0]
	} else if len(args) == 0 && a.stdinTerminal {
		return "", false, nil
	} else {
		data, err := io.ReadAll(a.stdin)
		if err != nil {
			return "", true, fmt.Errorf("read the prompt: %w", err)
		}
		prompt = strings.TrimRight(string(data), "\r\n")
	}
	if strings.TrimSpace(prompt) == "" {
		return "", true, &misuseError{errNothingAsked}
	}
	return prompt, true, nil
}

// checkStdin refuses two users of standard input.
func checkStdin(args, images []string) error {
	users := 0
	for _, image := range images {
		if path, _, _ := strings.Cut(image, "@"); path == "-" {
			users++
		}
	}
	if users > 0 && (len(args) == 0 || args[0] == "-") {
		users++
	}
	if users > 1 {
		return misuse("only one of prompt and pictures can come from standard input")
	}
	return nil
}

func (a *app) newSink(asJSON, quiet bool) sink {
	if asJSON {
		return newJSONSink(a.stdout)
	}
	return &plainSink{app: a, bar: a.newBar(quiet), quiet: quiet}
}

// system puts instructions before the conversation.
func (t *talk) system(s string) {
	if s != "" {
		t.conv.Messages = append(t.conv.Messages, text.Message{Role: text.RoleSystem, Content: text.Plain(s)})
	}
}

// say adds what the user says, after the pictures that were waiting for it.
func (t *talk) say(s string) {
	content := text.Plain(s)
	if len(t.pending) > 0 {
		var parts []text.Part
		for range t.pending {
			parts = append(parts, text.Part{Image: true})
		}
		content = text.List(append(parts, text.Part{Text: s})...)
	}
	t.conv.Messages = append(t.conv.Messages, text.Message{Role: text.RoleUser, Content: content})
	t.media, t.pending = append(t.media, t.pending...), nil
}

// unsay takes back the last thing that was said, which is the user's with the last of the media from n on.
func (t *talk) unsay(n int) {
	t.conv.Messages, t.media = t.conv.Messages[:len(t.conv.Messages)-1], t.media[:n]
}
