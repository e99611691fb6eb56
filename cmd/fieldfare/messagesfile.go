package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fieldfare/fieldfare/server/openai"
)

// lowDetail is what a picture costs whose detail is low, as in the server.
const lowDetail = 70

// openFile reads the conversation that --messages-file names. Paths of pictures in it are relative to its folder.
func (a *app) openFile(f *chatFlags, args []string) (o opening, err error) {
	if len(args) > 0 || len(f.images) > 0 || f.system != "" {
		return o, misuse("--messages-file holds the whole conversation: no prompt, --image or --system beside it")
	}
	data, folder, err := a.readMessages(f.messages)
	if err != nil {
		return o, err
	}
	c, err := openai.ParseMessages(data, openai.Options{Images: openai.Images{
		Low: lowDetail,
		ReadFile: func(path string) ([]byte, error) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(folder, path)
			}
			return readPictureFile(path)
		},
	}})
	if err != nil {
		return o, fmt.Errorf("%s: %w", f.messages, err)
	}
	if !f.model.quiet {
		for _, note := range c.Notes {
			fmt.Fprintf(a.stderr, "fieldfare: %s: %s\n", f.messages, note)
		}
	}
	return opening{conv: c.Conversation, media: c.Media, oneShot: true}, f.model.images.judge(c.Media)
}

// readMessages returns the file's content and the folder that its paths start from.
func (a *app) readMessages(path string) (data []byte, folder string, err error) {
	if path == "-" {
		data, err = io.ReadAll(a.stdin)
		folder = "."
	} else {
		data, err = os.ReadFile(path)
		folder = filepath.Dir(path)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the messages: %w", err)
	}
	return data, folder, nil
}
