package openai

// A TokenizeRequest asks for the ids of a text.
type TokenizeRequest struct {
	Text string
	// AddSpecial puts the token that begins a text in front.
	AddSpecial bool
	// WithPieces asks for the text of each id.
	WithPieces bool
}

// DecodeTokenize reads a request to tokenize. The text is called content or prompt. Errors are of type *Error.
func DecodeTokenize(data []byte) (*TokenizeRequest, error) {
	v, err := parse(data)
	if err != nil {
		return nil, err
	}
	r := new(TokenizeRequest)
	asked := false
	content := func(v value, at string) *Error {
		asked = true
		return text(&r.Text)(v, at)
	}
	err = fields{
		"content": content, "prompt": content, "model": ignored,
		"add_special": boolean(&r.AddSpecial), "add_special_tokens": boolean(&r.AddSpecial),
		"with_pieces": boolean(&r.WithPieces), "return_token_strs": boolean(&r.WithPieces),
	}.read(v, "")
	if err == nil && !asked {
		err = refuse(CodeMissing, "content", "a request has a text")
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// DecodeDetokenize reads a request for the text of ids. Errors are of type *Error.
func DecodeDetokenize(data []byte, vocab int) ([]int32, error) {
	v, err := parse(data)
	if err != nil {
		return nil, err
	}
	var ids []int32
	err = fields{"tokens": tokens(&ids, vocab), "model": ignored}.read(v, "")
	if err == nil && ids == nil {
		err = refuse(CodeMissing, "tokens", "a request has tokens")
	}
	if err != nil {
		return nil, err
	}
	return ids, nil
}
