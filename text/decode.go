package text

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Decode returns the text of ids without special tokens: blanks for U+2581, and bytes for byte tokens. A maximal
// run of byte tokens that is not valid UTF-8 as a whole gives one U+FFFD for each of its bytes. A special token
// does not end a run. Ids without a token give nothing.
func (t *Tokenizer) Decode(ids []int32) string { return t.decode(ids, false) }

// DecodeSpecial is Decode with special tokens spelled out. Here they do end a run of bytes.
func (t *Tokenizer) DecodeSpecial(ids []int32) string { return t.decode(ids, true) }

func (t *Tokenizer) decode(ids []int32, special bool) string {
	var out, run []byte
	for _, id := range ids {
		token := t.vocab.text(int(id))
		if len(token) == 0 || !special && t.IsSpecial(id) {
			continue
		}
		if b, ok := byteValue(token); ok {
			run = append(run, b)
			continue
		}
		out = appendRun(out, run)
		run = run[:0]
		out = appendPlain(out, token)
	}
	return string(appendRun(out, run))
}

// appendRun appends the text of a whole run of bytes.
func appendRun(out, run []byte) []byte {
	if utf8.Valid(run) {
		return append(out, run...)
	}
	for range run {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}

var spaceMarkBytes = []byte(string(spaceMark))

// appendPlain appends the text of a token that is no byte.
func appendPlain(out, token []byte) []byte {
	for {
		at := bytes.Index(token, spaceMarkBytes)
		if at < 0 {
			return append(out, token...)
		}
		out = append(append(out, token[:at]...), ' ')
		token = token[at+len(spaceMarkBytes):]
	}
}

// A Decoder is Decode for ids that come one at a time: what Push and Flush return, joined, is the text of all ids,
// and nothing is ever taken back. Text is held back only inside a run of byte tokens that is valid so far, since
// one wrong byte later makes U+FFFD of the whole run.
//
// One thing differs from Decode: the markers of channels, tool calls and tool responses end a run, so that its
// text belongs to the side on which it was produced.
type Decoder struct {
	tok    *Tokenizer
	run    []byte // bytes that are held back
	chars  int    // length of the part of run that is complete characters
	broken bool   // the current run cannot become valid any more
	out    []byte // what Push is about to return
}

// NewDecoder returns a Decoder at the start of a text.
func NewDecoder(t *Tokenizer) *Decoder { return &Decoder{tok: t} }

// Push returns the text that is certain after id, which is often empty.
func (d *Decoder) Push(id int32) string {
	token := d.tok.vocab.text(int(id))
	if len(token) == 0 {
		return ""
	}
	if d.tok.IsSpecial(id) {
		if slices.Contains(d.tok.structural, id) {
			return d.Flush()
		}
		return ""
	}
	if b, ok := byteValue(token); ok {
		return d.pushByte(b)
	}
	d.endRun()
	d.out = appendPlain(d.out, token)
	return d.take()
}

// Flush ends the text, or a part of it, and returns what was held back.
func (d *Decoder) Flush() string {
	d.endRun()
	return d.take()
}

func (d *Decoder) pushByte(b byte) string {
	d.run = append(d.run, b)
	if tail := d.run[d.chars:]; !d.broken && utf8.FullRune(tail) {
		c, size := utf8.DecodeRune(tail)
		d.broken = c == utf8.RuneError && size == 1
		d.chars += size
	}
	if d.broken {
		d.replaceRun()
	}
	return d.take()
}

// endRun moves a run to d.out. One that is valid so far may still lack the end of its last character.
func (d *Decoder) endRun() {
	if d.chars == len(d.run) {
		d.out = append(d.out, d.run...)
		d.run = d.run[:0]
	} else {
		d.replaceRun()
	}
	d.chars, d.broken = 0, false
}

func (d *Decoder) replaceRun() {
	for range d.run {
		d.out = utf8.AppendRune(d.out, utf8.RuneError)
	}
	d.run, d.chars = d.run[:0], 0
}

func (d *Decoder) take() string {
	s := string(d.out)
	d.out = d.out[:0]
	return s
}
