package text

import (
	"fmt"
	"strings"
)

// MediaTokens says how one image stands in the token sequence: Before, N times Soft, After.
type MediaTokens struct {
	Before, Soft, After int32
	N                   int // soft tokens, at least 1
}

// A Span is the half-open range [Lo, Hi) of positions that the soft tokens of one image take.
type Span struct{ Lo, Hi int }

// Encode turns the pieces of a rendered conversation into token ids. media describes the images in the order of
// their pieces; spans has one entry for each. Template text and text from outside are joined before they are
// encoded, because merges cross the border between them, and are encoded without looking for control tokens.
//
// Errors wrap ErrMissingToken or ErrMediaCount.
func Encode(t *Tokenizer, pieces []Piece, media []MediaTokens) (ids []int32, spans []Span, err error) {
	if places := countImages(pieces); places != len(media) {
		return nil, nil, fmt.Errorf("%w: the conversation has %d, the request %d", ErrMediaCount, places, len(media))
	}
	var run strings.Builder
	endRun := func() {
		if run.Len() > 0 {
			ids = t.EncodeAppend(ids, run.String())
			run.Reset()
		}
	}
	for _, p := range pieces {
		switch p.Kind {
		case PieceLiteral, PieceUser:
			run.WriteString(p.Text)
		case PieceSpecial:
			endRun()
			id, ok := t.Special(p.Text)
			if !ok {
				return nil, nil, fmt.Errorf("%w: %s", ErrMissingToken, p.Text)
			}
			ids = append(ids, id)
		case PieceImage:
			endRun()
			m := media[len(spans)]
			if m.N < 1 {
				return nil, nil, fmt.Errorf("%w: image %d has %d soft tokens", ErrMediaCount, len(spans), m.N)
			}
			ids = append(ids, m.Before)
			spans = append(spans, Span{len(ids), len(ids) + m.N})
			for range m.N {
				ids = append(ids, m.Soft)
			}
			ids = append(ids, m.After)
		}
	}
	endRun()
	return ids, spans, nil
}

func countImages(pieces []Piece) int {
	n := 0
	for _, p := range pieces {
		if p.Kind == PieceImage {
			n++
		}
	}
	return n
}
