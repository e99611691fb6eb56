package synth

import "errors"

var (
	// ErrConfig: the configuration describes a model that the recipe cannot make.
	ErrConfig = errors.New("configuration does not fit the recipe")
	// ErrTokenizer: the base tokenizer is missing or cannot be padded.
	ErrTokenizer = errors.New("base tokenizer cannot be used")
	// ErrRange: a range lies outside its file.
	ErrRange = errors.New("range outside of the file")
)
