package text

import (
	"cmp"
	"slices"
)

// An addedToken is a token that is found in raw text before anything else, whole.
type addedToken struct {
	content string
	id      int32
	special bool
}

// addedTokens finds added tokens in text: leftmost, longest of those that start there.
type addedTokens struct {
	sorted  []addedToken     // by content
	byFirst [256][2]uint16   // first byte -> range of sorted
	plain   bool             // there are tokens that are not special
	ids     map[string]int32 // special tokens only
}

// maxAdded bounds the number of added tokens. Gemma 3 has 6,415, Gemma 4 has 24.
const maxAdded = 1<<16 - 1

func newAddedTokens(tokens []addedToken) addedTokens {
	a := addedTokens{sorted: tokens, ids: make(map[string]int32)}
	slices.SortFunc(a.sorted, func(x, y addedToken) int { return cmp.Compare(x.content, y.content) })
	for i, t := range a.sorted {
		r := &a.byFirst[t.content[0]]
		if r[0] == r[1] {
			r[0] = uint16(i)
		}
		r[1] = uint16(i + 1)
		if t.special {
			a.ids[t.content] = t.id
		} else {
			a.plain = true
		}
	}
	return a
}

// find returns the first added token in s that starts at from or later, with its range; ok is false if there is
// none.
func (a *addedTokens) find(s string, from int) (t addedToken, lo, hi int, ok bool) {
	for lo = from; lo < len(s); lo++ {
		if r := a.byFirst[s[lo]]; r[0] < r[1] {
			if i := a.longest(s[lo:], int(r[0]), int(r[1])); i >= 0 {
				return a.sorted[i], lo, lo + len(a.sorted[i].content), true
			}
		}
	}
	return addedToken{}, 0, 0, false
}

// longest returns the index of the longest of sorted[lo:hi] that s starts with, -1 if there is none. All of the
// range share the first byte of s.
func (a *addedTokens) longest(s string, lo, hi int) int {
	best := -1
	for depth := 1; ; depth++ {
		if len(a.sorted[lo].content) == depth {
			best = lo
			lo++
		}
		if lo == hi || depth == len(s) {
			return best
		}
		lo, hi = narrow(a.sorted, lo, hi, depth, s[depth])
		if lo == hi {
			return best
		}
	}
}

// narrow returns the part of sorted[lo:hi], which agree in their first depth bytes, whose next byte is c.
func narrow(sorted []addedToken, lo, hi, depth int, c byte) (int, int) {
	byNext := func(t addedToken, c int) int { return cmp.Compare(int(t.content[depth]), c) }
	first, _ := slices.BinarySearchFunc(sorted[lo:hi], int(c), byNext)
	end, _ := slices.BinarySearchFunc(sorted[lo+first:hi], int(c)+1, byNext)
	return lo + first, lo + first + end
}
