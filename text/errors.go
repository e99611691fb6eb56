package text

import "errors"

var (
	// ErrTokenizerFile says that a tokenizer.json is not well formed or contradicts itself.
	ErrTokenizerFile = errors.New("tokenizer file is not valid")
	// ErrTokenizerKind says that a tokenizer.json is well formed but asks for something that this package does
	// not do, such as another model than BPE or another decoder. Encoding anyway would give other ids than the
	// model was trained with.
	ErrTokenizerKind = errors.New("tokenizer file asks for a step that is not supported")
)
