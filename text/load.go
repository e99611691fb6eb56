package text

import (
	"fmt"
	"unicode/utf8"
)

// LoadTokenizer reads a tokenizer.json of the Gemma family: byte-pair merges with byte fallback over text whose
// blanks became U+2581, added tokens that are matched in raw text, and the decoder that undoes all that. It keeps
// nothing of tokenizerJSON. The file's post-processor, truncation and padding are left alone: <bos> is the chat
// template's business, and nothing is ever cut.
//
// Errors wrap ErrTokenizerFile, or ErrTokenizerKind if the file is sound but another tokenizer is needed for it.
func LoadTokenizer(tokenizerJSON []byte) (*Tokenizer, error) {
	s := scanner{data: tokenizerJSON}
	file, model, err := sections(&s)
	if err != nil {
		return nil, err
	}
	if err := checkPipeline(file); err != nil {
		return nil, err
	}
	if err := checkModel(model); err != nil {
		return nil, err
	}
	t := new(Tokenizer)
	if err := t.read(model["vocab"], model["merges"], file["added_tokens"]); err != nil {
		return nil, err
	}
	return t, nil
}

// sections finds the members of the file and of its model, the one big member, in one pass.
func sections(s *scanner) (file, model map[string]scanner, err error) {
	file = make(map[string]scanner)
	err = s.members(func(key []byte) (err error) {
		if string(key) == "model" {
			model, err = s.fields()
			return err
		}
		name := string(key)
		file[name], err = s.raw()
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && model == nil {
		err = fmt.Errorf("%w: it has no model", ErrTokenizerFile)
	}
	return file, model, err
}

// read fills t. Added tokens come before merges, which must not make special ones.
func (t *Tokenizer) read(vocab, merges, added scanner) error {
	index, err := t.readVocab(vocab)
	if err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	if err := t.readAdded(added, index); err != nil {
		return err
	}
	if err := t.indexSymbols(index); err != nil {
		return err
	}
	if err := t.readMerges(merges, index); err != nil {
		return fmt.Errorf("merges: %w", err)
	}
	for _, name := range structuralMarkers {
		if id, ok := t.Special(name); ok {
			t.structural = append(t.structural, id)
		}
	}
	// The index, which is garbage now, shares these: give back what they have grown too far.
	t.vocab.blob = append([]byte(nil), t.vocab.blob...)
	t.vocab.spans = append([]span(nil), t.vocab.spans...)
	return nil
}

// indexSymbols notes the tokens that merging starts from: characters and bytes.
func (t *Tokenizer) indexSymbols(index *textIndex) error {
	for b := range t.byteIDs {
		text := byteTokenText(byte(b))
		id, ok := index.id([]byte(text))
		if !ok {
			return fmt.Errorf("%w: byte token %s is missing", ErrTokenizerFile, text)
		}
		t.byteIDs[b] = int32(id)
	}
	t.runes = newRuneTable()
	for id := range t.vocab.spans {
		text := t.vocab.text(id)
		c, size := utf8.DecodeRune(text)
		if size == 0 || size != len(text) || t.IsSpecial(int32(id)) {
			continue
		}
		if last, _ := index.id(text); last == id {
			t.runes.put(c, id)
		}
	}
	return nil
}

// readAdded reads the added tokens, which may extend the vocabulary.
func (t *Tokenizer) readAdded(s scanner, index *textIndex) error {
	var entries []struct {
		ID         int    `json:"id"`
		Content    string `json:"content"`
		Special    bool   `json:"special"`
		SingleWord bool   `json:"single_word"`
		LStrip     bool   `json:"lstrip"`
		RStrip     bool   `json:"rstrip"`
		Normalized bool   `json:"normalized"`
	}
	if err := s.decode("added_tokens", &entries); err != nil {
		return err
	}
	if len(entries) > maxAdded {
		return fmt.Errorf("%w: %d added tokens, more than %d", ErrTokenizerFile, len(entries), maxAdded)
	}
	tokens := make([]addedToken, 0, len(entries))
	for _, e := range entries {
		if e.SingleWord || e.LStrip || e.RStrip || e.Normalized {
			return fmt.Errorf("%w: added token %.40q is single_word, lstrip, rstrip or normalized",
				ErrTokenizerKind, e.Content)
		}
		if e.Content == "" || e.ID < 0 || e.ID > maxID {
			return fmt.Errorf("%w: added token %.40q with id %d: expected a text and an id from 0 to %d",
				ErrTokenizerFile, e.Content, e.ID, maxID)
		}
		if isByteToken([]byte(e.Content)) {
			return fmt.Errorf("%w: added token %s is spelled like a byte", ErrTokenizerKind, e.Content)
		}
		if err := t.placeAdded(e.ID, []byte(e.Content), index); err != nil {
			return err
		}
		if e.Special {
			t.setSpecial(e.ID)
		}
		tokens = append(tokens, addedToken{e.Content, int32(e.ID), e.Special})
	}
	t.added = newAddedTokens(tokens)
	for i := 1; i < len(tokens); i++ {
		if tokens[i-1].content == tokens[i].content {
			return fmt.Errorf("%w: added token %.40q comes twice", ErrTokenizerFile, tokens[i].content)
		}
	}
	return nil
}

// placeAdded checks an added token against the vocabulary, or puts it there.
func (t *Tokenizer) placeAdded(id int, content []byte, index *textIndex) error {
	if have, ok := index.id(content); ok {
		if have != id {
			return fmt.Errorf("%w: added token %.40q has id %d, the vocabulary says %d",
				ErrTokenizerFile, content, id, have)
		}
		return nil
	}
	if t.vocab.has(id) {
		return fmt.Errorf("%w: added token %.40q has id %d, which the vocabulary gives to %.40q",
			ErrTokenizerFile, content, id, t.vocab.text(id))
	}
	t.vocab.set(id, content)
	index.put(id)
	return nil
}
