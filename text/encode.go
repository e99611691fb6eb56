package text

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// spaceMark is what a blank becomes before merging, U+2581.
const spaceMark = '▁'

// Encode returns the ids of text as plain text: no special token is ever among them, and a typed marker is
// ordinary characters. Neighbouring stretches must be joined before they are encoded, because tokens cross the
// border between them. Nothing is put in front, <bos> neither. Invalid UTF-8 counts as U+FFFD, one for each
// ill-formed sequence.
func (t *Tokenizer) Encode(text string) []int32 { return t.EncodeAppend(nil, text) }

// EncodeAppend appends what Encode returns to dst.
func (t *Tokenizer) EncodeAppend(dst []int32, text string) []int32 { return t.encode(dst, text, false) }

// EncodeSpecial is Encode, except that special tokens in text become their ids, as in the reference. Text from
// users, tools or documents can take over the conversation that way: it is for tests and for text of our own.
func (t *Tokenizer) EncodeSpecial(text string) []int32 { return t.encode(nil, text, true) }

func (t *Tokenizer) encode(dst []int32, text string, special bool) []int32 {
	text = validUTF8(text)
	e := encoderPool.Get().(*encoder)
	e.tok, e.merge.table = t, &t.merges
	start := 0
	if special || t.added.plain {
		for from := 0; ; {
			tok, lo, hi, ok := t.added.find(text, from)
			if !ok {
				break
			}
			from = hi
			if tok.special && !special {
				continue
			}
			dst = e.stretch(dst, text[start:lo])
			dst = append(dst, tok.id)
			start = hi
		}
	}
	dst = e.stretch(dst, text[start:])
	e.release()
	return dst
}

// An encoder turns stretches without added tokens into ids.
type encoder struct {
	tok   *Tokenizer
	merge merger
}

var encoderPool = sync.Pool{New: func() any { return new(encoder) }}

// release makes the encoder available to others, unless a huge piece has left it with huge buffers.
func (e *encoder) release() {
	e.tok, e.merge.table = nil, nil
	if cap(e.merge.ids) <= 1<<14 {
		encoderPool.Put(e)
	}
}

// stretch appends the ids of s. It merges piece by piece, cut where nothing can merge, which equals merging all of
// s at once. Pieces of ordinary text are words, so the time is linear in the length of s.
func (e *encoder) stretch(dst []int32, s string) []int32 {
	t := e.tok
	last := rune(-1) // the piece's last character, -1 if the piece is empty
	for i := 0; i < len(s); {
		c, size := rune(s[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(s[i:])
		} else if c == ' ' {
			c = spaceMark
		}
		if last >= 0 && !t.merges.joins(last, c) {
			dst = e.piece(dst)
			last = -1
		}
		if id := t.runes.get(c); id >= 0 {
			e.merge.ids = append(e.merge.ids, id)
			last = c
		} else {
			dst = e.piece(dst)
			last = -1
			var buf [utf8.UTFMax]byte
			for _, b := range buf[:utf8.EncodeRune(buf[:], c)] {
				dst = append(dst, t.byteIDs[b])
			}
		}
		i += size
	}
	return e.piece(dst)
}

// piece merges what e.merge holds, appends it and starts the next piece.
func (e *encoder) piece(dst []int32) []int32 {
	e.merge.run()
	dst = append(dst, e.merge.ids...)
	e.merge.ids = e.merge.ids[:0]
	return dst
}

// validUTF8 replaces each ill-formed sequence, in the sense of the Unicode standard's "maximal subpart", by
// U+FFFD. strings.ToValidUTF8 makes one of a whole run, a range loop one of each byte.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	for len(s) > 0 {
		c, size := utf8.DecodeRuneInString(s)
		if c == utf8.RuneError && size == 1 {
			size = illFormed(s)
		}
		b.WriteRune(c)
		s = s[size:]
	}
	return b.String()
}

// illFormed returns the length of the ill-formed sequence that s starts with: the longest start of a valid
// character, at least one byte.
func illFormed(s string) int {
	n := 1
	for n < len(s) && n < utf8.UTFMax && !utf8.FullRuneInString(s[:n]) {
		n++
	}
	// s[:n] is complete, thus wrong in its last byte, or ends with s.
	if n > 1 && utf8.FullRuneInString(s[:n]) {
		n--
	}
	return n
}
