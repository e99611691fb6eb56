package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/fieldfare/fieldfare/gturbo"
	"github.com/fieldfare/fieldfare/residency"
	"github.com/fieldfare/fieldfare/text"
)

// Load opens the install at path and makes it ready to run. Resident weights stay mapped until Close; experts are
// read when they are first wanted.
//
// Problems of opts are all reported at once and wrap ErrOptions. Damage, an unsupported model and the like are
// gturbo's errors; a tokenizer that cannot be read is one of text's. An extension that fails to start is disabled,
// see Extensions.
func Load(ctx context.Context, path string, opts Options) (*Runtime, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	in, err := gturbo.Open(ctx, path, opts.Open)
	if err != nil {
		return nil, err
	}
	r, err := load(ctx, in, opts)
	if err != nil {
		in.Close()
		return nil, err
	}
	return r, nil
}

func load(ctx context.Context, in *gturbo.Install, opts Options) (*Runtime, error) {
	w, err := BindWeights(in)
	if err != nil {
		return nil, err
	}
	words, err := loadChat(in)
	if err != nil {
		return nil, err
	}
	if size := words.tokenizer.Size(); size > w.Config.Vocab {
		return nil, fmt.Errorf("%w: the tokenizer has ids up to %d, the model's table %d rows", ErrConfig, size-1, w.Config.Vocab)
	}
	return newRuntime(ctx, w, residency.Files(in), opts, in, words)
}

// loadChat reads the tokenizer and picks the chat template.
func loadChat(in *gturbo.Install) (chat, error) {
	data, err := in.TokenizerFile("tokenizer.json")
	if err != nil {
		return chat{}, err
	}
	c := chat{turn: -1}
	if c.tokenizer, err = text.LoadTokenizer(data); err != nil {
		return chat{}, err
	}
	jinja, err := in.TokenizerFile("chat_template.jinja")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return chat{}, err
	}
	c.template, c.notice = text.TemplateFor(jinja)
	if id, ok := c.tokenizer.Special("<|turn>"); ok {
		c.turn = id
	}
	return c, nil
}

// Install is the open install; nil when the runtime was not made by Load.
func (r *Runtime) Install() *gturbo.Install { return r.install }
