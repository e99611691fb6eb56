package core

import (
	"context"
	"errors"

	"github.com/fieldfare/fieldfare/text"
)

// AnswerOptions says how a session answers a conversation.
type AnswerOptions struct {
	Generate GenerateOptions
	// Tools are the functions that the prompt declared; a call of another is malformed.
	Tools []text.Tool
	// Stop holds texts before which the visible answer ends.
	Stop []string
	// Progress, unless nil, hears of the prefill, on the calling goroutine.
	Progress func(Progress)
	// Token, unless nil, hears of every token before the events that it brings, on the calling goroutine: of those,
	// too, that bring none.
	Token func(Token)
}

// Answer is the account of one answer.
type Answer struct {
	Prefilled Prefilled
	Result    Result
	Finish    text.Finish
	// StopString says that one of AnswerOptions.Stop ended the answer.
	StopString bool
}

// Answer prefills p, generates, and reads what the model writes: visible text up to a stop string, thoughts, tool
// calls. emit gets every event but EventDone, on this goroutine, with the token that brought it; events that a token
// did not bring by itself come with the last token. An error of emit ends the answer and is returned.
//
// When ctx ends the run, what was written so far is emitted to its end, and ctx's error is returned with the account.
func (s *Session) Answer(ctx context.Context, p *Prompt, o AnswerOptions, emit func(text.Event, Token) error) (Answer, error) {
	var a Answer
	parser, err := text.NewParser(s.rt.Tokenizer(), text.ParserOptions{Tools: o.Tools, InThought: p.InThought})
	if err != nil {
		return a, err
	}
	if a.Prefilled, err = s.Prefill(ctx, p, o.Progress); err != nil {
		return a, err
	}
	r := &reader{stopper: text.NewStopper(o.Stop), emit: emit, answer: &a}
	var last Token
	a.Result, err = s.Generate(ctx, o.Generate, func(t Token) error {
		last = t
		if o.Token != nil {
			o.Token(t)
		}
		return r.events(parser.Push(t.ID), t)
	})
	if err != nil && ctx.Err() == nil {
		return a, err
	}
	if ended := r.end(parser, a.Result, last); err == nil {
		err = ended
	}
	return a, err
}

// A reader hands a parser's events on, visible text through the stop strings.
type reader struct {
	stopper *text.Stopper
	emit    func(text.Event, Token) error
	answer  *Answer
}

// events returns ErrStop when a stop string has ended the answer.
func (r *reader) events(events []text.Event, t Token) error {
	for _, e := range events {
		switch e.Kind {
		case text.EventText:
			e.Text, r.answer.StopString = r.stopper.Push(e.Text)
		case text.EventDone:
			r.answer.Finish = e.Finish
			continue
		default:
			if err := r.show(r.stopper.Flush(), t); err != nil {
				return err
			}
		}
		if e.Kind != text.EventText || e.Text != "" {
			if err := r.emit(e, t); err != nil {
				return err
			}
		}
		if r.answer.StopString {
			return ErrStop
		}
	}
	return nil
}

func (r *reader) show(s string, t Token) error {
	if s == "" {
		return nil
	}
	return r.emit(text.Event{Kind: text.EventText, Text: s}, t)
}

// end lets out what parser and stop strings held back.
func (r *reader) end(parser *text.Parser, res Result, last Token) error {
	if r.answer.StopString {
		r.answer.Finish = text.FinishStop
		return nil
	}
	var err error
	if res.Finish == FinishStop {
		err = r.events(parser.Push(res.StopID), last)
	}
	if err == nil {
		err = r.events(parser.Close(res.Finish == FinishLength || res.Finish == FinishContext), last)
	}
	if err == nil {
		err = r.show(r.stopper.Flush(), last)
	}
	if errors.Is(err, ErrStop) {
		r.answer.Finish = text.FinishStop
		return nil
	}
	return err
}
