package core

import "fmt"

// Reuse says how much of a prompt was taken from what the session already held, and what ended it.
type Reuse struct {
	// Tokens were not computed again. Common are the tokens that the prompt shares with the session; it is more than
	// Tokens when the sliding layers cannot be taken back that far.
	Tokens, Common int
	End            ReuseEnd
	// Position is where the prompts part, for ReuseDiffers and ReuseMedia.
	Position int
}

// ReuseEnd is the reason why a reused prefix is not longer.
type ReuseEnd int

const (
	ReuseEmpty   ReuseEnd = iota // the session held nothing
	ReuseDiffers                 // another token from Position on
	ReuseMedia                   // another attachment, or another preparation of it, at Position
	ReuseAll                     // the session's tokens are a prefix of the prompt, or the prompt one of them
	ReuseRewind                  // the sliding layers no longer hold what precedes Position
)

var reuseEnds = [...]string{"nothing to reuse", "another token", "another attachment", "all reused",
	"sliding layers cannot be rewound"}

func (e ReuseEnd) String() string { return reuseEnds[e] }

// MarshalText gives the reason's words to JSON.
func (e ReuseEnd) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (r Reuse) String() string {
	switch r.End {
	case ReuseDiffers, ReuseMedia, ReuseRewind:
		return fmt.Sprintf("%d tokens reused, then: %s at position %d", r.Tokens, r.End, r.Position)
	}
	return fmt.Sprintf("%d tokens reused: %s", r.Tokens, r.End)
}

// commonPrefix compares a prompt with what a session holds: token ids and, at attachments, digests. It returns how
// many positions they share; never a part of a span, and never the whole prompt, whose last token has to run for the
// sake of its logits.
func commonPrefix(tokens []int32, spans []Span, p *Prompt) Reuse {
	if len(tokens) == 0 {
		return Reuse{End: ReuseEmpty}
	}
	n := min(len(tokens), len(p.Tokens))
	r := Reuse{Common: n, End: ReuseAll}
	for i := range n {
		if tokens[i] != p.Tokens[i] {
			r = Reuse{Common: i, End: ReuseDiffers, Position: i}
			break
		}
	}
	if at, ok := firstSpanDifference(spans, p.Spans); ok && at < r.Common {
		r = Reuse{Common: at, End: ReuseMedia, Position: at}
	}
	r.Common = outsideSpan(p.Spans, min(r.Common, len(p.Tokens)-1))
	return r
}

// firstSpanDifference returns the position of the first span that only one side has, or that differs in length or
// digest.
func firstSpanDifference(a, b []Span) (int, bool) {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return b[i].Lo, true
		case i >= len(b):
			return a[i].Lo, true
		case a[i].Lo != b[i].Lo || a[i].Hi != b[i].Hi || a[i].Digest != b[i].Digest:
			return min(a[i].Lo, b[i].Lo), true
		}
	}
	return 0, false
}

// outsideSpan moves a position that lies inside a span to the span's start.
func outsideSpan(spans []Span, pos int) int {
	for _, s := range spans {
		if s.Lo < pos && pos < s.Hi {
			return s.Lo
		}
	}
	return pos
}
