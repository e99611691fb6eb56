package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/text"
)

// A talk is a conversation with a loaded model.
type talk struct {
	app     *app
	rt      *core.Runtime
	session *core.Session
	conv    text.Conversation
	media   []core.Media // in the order of their places in conv
	pending []core.Media // for the next thing that the user says
	images  *imageFlags
	opts    core.AnswerOptions
	sink    sink
}

// ask has the model answer the conversation and adds the answer to it. An interrupt from the keyboard ends the
// answer with errStopped; what was written by then stays in the conversation. A second interrupt ends the program.
func (t *talk) ask(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // from the first interrupt on, the next one has its usual effect

	prompt, err := t.rt.Prepare(ctx, t.conv, t.media)
	if err != nil {
		return err
	}
	before := t.rt.Stats()
	var reply reply
	t.opts.Tools = t.conv.Tools
	t.opts.Progress = t.sink.progress
	answer, err := t.session.Answer(ctx, prompt, t.opts, func(e text.Event, _ core.Token) error {
		reply.add(e)
		present(t.sink, e)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	t.conv.Messages = append(t.conv.Messages, reply.message())
	t.sink.done(newFooter(finish(answer, err), answer.Prefilled, answer.Result, t.rt.Stats().Sub(before)))
	if err != nil {
		return errStopped
	}
	return nil
}

// finish names how an answer ended.
func finish(a core.Answer, err error) string {
	switch {
	case err != nil:
		return "stopped"
	case a.StopString:
		return "stop string"
	case a.Result.Finish == core.FinishContext:
		return a.Result.Finish.String()
	}
	return string(a.Finish)
}

// present hands an event to the sink.
func present(s sink, e text.Event) {
	switch e.Kind {
	case text.EventText:
		s.text(e.Text)
	case text.EventReasoning:
		s.reasoning(e.Text)
	case text.EventCallEnd:
		s.call(e.Call)
	case text.EventMalformed:
		s.malformed(e.Err)
	}
}

// A reply collects an answer for the conversation.
type reply struct {
	text, thought strings.Builder
	calls         []text.ToolCall
}

func (r *reply) add(e text.Event) {
	switch e.Kind {
	case text.EventText:
		r.text.WriteString(e.Text)
	case text.EventReasoning:
		r.thought.WriteString(e.Text)
	case text.EventCallEnd:
		r.calls = append(r.calls, e.Call)
	case text.EventMalformed:
		r.text.WriteString(e.Err.Raw)
	}
}

func (r *reply) message() text.Message {
	return text.Message{
		Role: text.RoleAssistant, Content: text.Plain(r.text.String()),
		Reasoning: r.thought.String(), ToolCalls: r.calls,
	}
}

var errNothingAsked = errors.New("the prompt is empty")
