package text

import "strings"

// The generators of testdata/tokenizer/reference.py: the same seeds give the same texts and ids there.

// splitmix is the generator splitmix64.
type splitmix uint64

func (r *splitmix) below(n int) int {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

func (g *goldens) anyRune(r *splitmix) rune {
	b := g.Ranges[r.below(len(g.Ranges))]
	return b[0] + rune(r.below(int(b[1]-b[0]+1)))
}

func (g *goldens) seededText(seed uint64) string {
	r := splitmix(seed)
	var b strings.Builder
	for n := 1 + r.below(40); n > 0; n-- {
		if seed%4 != 0 {
			b.WriteString(g.Atoms[r.below(len(g.Atoms))])
		} else {
			b.WriteRune(g.anyRune(&r))
		}
	}
	return b.String()
}

func (g *goldens) line(seed uint64, size int) string {
	r := splitmix(seed)
	var b strings.Builder
	for b.Len() < size {
		if a := g.Atoms[r.below(len(g.Atoms))]; !strings.ContainsAny(a, "\n\r") {
			b.WriteString(a)
		}
	}
	return b.String()
}

func letters(seed uint64, size int) string {
	r := splitmix(seed)
	b := make([]byte, size)
	for i := range b {
		b[i] = 'a' + byte(r.below(26))
	}
	return string(b)
}

func (g *goldens) randomIDs(seed uint64, tok *Tokenizer, special []int32) []int32 {
	var ids []int32
	r := splitmix(seed)
	for n := 1 + r.below(60); n > 0; n-- {
		switch k := r.below(8); {
		case k == 0:
			ids = append(ids, special[r.below(len(special))])
		case k == 1:
			ids = append(ids, int32(r.below(tok.Size()+10)))
		case k < 4:
			ids = append(ids, tok.byteIDs[r.below(256)])
		default:
			for _, b := range []byte(string(g.anyRune(&r))) {
				ids = append(ids, tok.byteIDs[b])
			}
		}
	}
	return ids
}

func specialIDs(tok *Tokenizer) []int32 {
	var special []int32
	for id := range int32(tok.Size()) {
		if tok.IsSpecial(id) {
			special = append(special, id)
		}
	}
	return special
}
