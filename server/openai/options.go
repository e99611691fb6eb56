package openai

import "github.com/fieldfare/fieldfare/core"

// Options say how requests are read. The zero value takes no files and as many pictures as there are.
type Options struct {
	// Sampling is what holds where a request says nothing.
	Sampling core.Sampling
	// Vocab is the number of token ids; a logit_bias or prompt with others is refused. 0 means that nobody looks.
	Vocab  int
	Images Images
}

// Images are the rules for pictures.
type Images struct {
	// Most pictures of one request, and most encoded bytes of one; 0 is no limit.
	Most      int
	MostBytes int
	// Low, Auto and High are the soft-token budgets that the three values of detail ask for; 0 leaves the choice to
	// the extension.
	Low, Auto, High int
	// ReadFile reads the picture of an image_file part. Unset, such parts are refused: requests from a network never
	// name files.
	ReadFile func(path string) ([]byte, error)
}

func (o Images) budget(detail string) int {
	switch detail {
	case "low":
		return o.Low
	case "high":
		return o.High
	}
	return o.Auto
}
