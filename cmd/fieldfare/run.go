package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
)

func (a *app) runCommand() *cobra.Command {
	var (
		model    modelFlags
		sampling samplingFlags
		prompt   string
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "run --prompt TEXT",
		Short: "Continue a text as it is, without the chat format",
		Long: `run hands TEXT to the model without the chat format and writes how it goes on. Control tokens in TEXT count as
such here: this is for experiments with formats, not for text from others.`,
		Example: `  fieldfare run --temperature 0 --prompt "<bos><|turn>user
Hi<turn|>
<|turn>model
"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			generate, err := sampling.options()
			if err != nil {
				return err
			}
			switch prompt {
			case "":
				return misuse("run needs --prompt")
			case "-":
				data, err := io.ReadAll(a.stdin)
				if err != nil {
					return fmt.Errorf("read the prompt: %w", err)
				}
				prompt = string(data)
			}
			return a.complete(cmd.Context(), &model, prompt, generate, sampling.stop, a.newSink(asJSON, model.quiet))
		},
	}
	model.add(cmd)
	sampling.add(cmd)
	cmd.Flags().StringVar(&prompt, "prompt", "", "the text to continue; - takes it from standard input, to the last byte")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object for each event to standard output")
	return cmd
}

// complete continues a raw text.
func (a *app) complete(
	ctx context.Context, f *modelFlags, prompt string, generate core.GenerateOptions, stops []string, out sink,
) error {
	rt, err := a.load(ctx, f)
	if err != nil {
		return err
	}
	defer rt.Close()
	session, err := rt.NewSession()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)

	tok := rt.Tokenizer()
	before := rt.Stats()
	p, err := session.Prefill(ctx, &core.Prompt{Tokens: tok.EncodeSpecial(prompt)}, out.progress)
	if err != nil {
		return err
	}
	decoder, stopper := text.NewDecoder(tok), text.NewStopper(stops)
	write := func(s string) (stopped bool) {
		if s, stopped = stopper.Push(s); s != "" {
			out.text(s)
		}
		return stopped
	}
	r, err := session.Generate(ctx, generate, func(t core.Token) error {
		if write(decoder.Push(t.ID)) {
			return core.ErrStop
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	write(decoder.Flush())
	if rest := stopper.Flush(); rest != "" {
		out.text(rest)
	}
	how := r.Finish.String()
	if err != nil {
		how, err = "stopped", errStopped
	}
	out.done(newFooter(how, p, r, rt.Stats().Sub(before)))
	return err
}
