// Package text is the model's view of words: it turns text into token ids and back, renders conversations in
// Gemma's turns, and reads tool calls and thoughts out of what the model writes.
//
// It knows no tensors, no model and no files: a tokenizer comes in as the bytes of its tokenizer.json. Ids of control
// tokens come only from the renderer. Text from users, tools and documents goes through Tokenizer.Encode, which
// never returns one.
//
// Start reading at LoadTokenizer and Tokenizer.Encode; bpe.go has the merging.
package text
