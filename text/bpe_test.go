package text

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestMergeOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		words  []string
		merges [][2]string
		text   string
		want   []string
	}{
		{"lower rank goes first wherever it stands", []string{"a", "b", "c", "ab", "bc"},
			[][2]string{{"b", "c"}, {"a", "b"}}, "abc", []string{"a", "bc"}},
		{"leftmost of equals goes first", []string{"a", "aa"},
			[][2]string{{"a", "a"}}, "aaa", []string{"aa", "a"}},
		{"merged tokens merge on", []string{"a", "aa", "aaaa"},
			[][2]string{{"a", "a"}, {"aa", "aa"}}, "aaaaaaa", []string{"aaaa", "aa", "a"}},
		{"a later rank can be reached through an earlier one only", []string{"a", "b", "c", "bc", "abc"},
			[][2]string{{"a", "bc"}, {"b", "c"}}, "abcabc", []string{"abc", "abc"}},
		{"a pair listed twice has its later rank", []string{"a", "b", "c", "ab", "bc"},
			[][2]string{{"a", "b"}, {"b", "c"}, {"a", "b"}}, "abc", []string{"a", "bc"}},
		{"no merge, no token, although the vocabulary has the text", []string{"a", "b", "ab"},
			nil, "ab", []string{"a", "b"}},
		{"blanks merge as U+2581", []string{"▁", "a", "▁a", "▁▁"},
			[][2]string{{"▁", "▁"}, {"▁", "a"}}, "   a a", []string{"▁▁", "▁a", "▁a"}},
		{"a character that is no token becomes bytes, which never merge", []string{"a", "aa"},
			[][2]string{{"a", "a"}}, "aéa", []string{"a", "<0xC3>", "<0xA9>", "a"}},
		{"a blank is U+2581 in bytes too", []string{"a"},
			nil, "a ", []string{"a", "<0xE2>", "<0x96>", "<0x81>"}},
		{"typed byte tokens are characters", []string{"<", "0", "x", "4", "1", ">"},
			nil, "<0x41>", []string{"<", "0", "x", "4", "1", ">"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := toy(t, c.words, c.merges...)
			if got := texts(tok, tok.Encode(c.text)); !slices.Equal(got, c.want) {
				t.Errorf("%q gives %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// mergeSlowly is the definition: over the whole text, look at every pair, merge the first of the lowest rank.
func mergeSlowly(ids []int32, ranks map[[2]int32]int, results map[int]int32) []int32 {
	ids = slices.Clone(ids)
	for {
		best, at := 1<<30, -1
		for i := 0; i+1 < len(ids); i++ {
			if r, ok := ranks[[2]int32{ids[i], ids[i+1]}]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, results[best])
	}
}

// demoMerges reads the demo's merges with encoding/json and maps.
func demoMerges(t *testing.T) (vocab map[string]int32, ranks map[[2]int32]int, results map[int]int32) {
	var file struct {
		Model struct {
			Vocab  map[string]int32
			Merges [][2]string
		}
	}
	if err := json.Unmarshal(readTestdata(t, "checkpoint/tokenizer.json", nil), &file); err != nil {
		t.Fatal(err)
	}
	vocab, ranks, results = file.Model.Vocab, make(map[[2]int32]int), make(map[int]int32)
	for i, m := range file.Model.Merges {
		ranks[[2]int32{vocab[m[0]], vocab[m[1]]}] = i
		results[i] = vocab[m[0]+m[1]]
	}
	return vocab, ranks, results
}

func TestBothLoopsMergeAsTheDefinition(t *testing.T) {
	tok := demoTokenizer(t)
	vocab, ranks, results := demoMerges(t)
	var symbols []int32
	for _, c := range "▁etaoinshrdlu.\nTH" {
		symbols = append(symbols, vocab[string(c)])
	}
	loops := map[string]func(*merger){"short": (*merger).runShort, "long": (*merger).runLong}
	for seed, n := range []int{0, 1, 2, 3, 5, 8, 31, 63, 64, 65, 66, 127, 200, 500, 1000} {
		r := splitmix(seed)
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = symbols[r.below(len(symbols))]
		}
		want := mergeSlowly(ids, ranks, results)
		for name, loop := range loops {
			m := merger{table: &tok.merges, ids: slices.Clone(ids)}
			m.setRanks()
			if n > 0 {
				loop(&m)
			}
			if !slices.Equal(m.ids, want) {
				t.Errorf("%s loop, %d symbols: got %v, want %v", name, n, m.ids, want)
			}
		}
	}
}

// Cutting text into pieces must not show.
func TestPiecesGiveTheIDsOfTheWholeText(t *testing.T) {
	tok := demoTokenizer(t)
	vocab, ranks, results := demoMerges(t)
	var g goldens
	readTestdata(t, "tokenizer/demo.json", &g)
	for seed := range uint64(300) {
		text := g.seededText(seed)
		var symbols []int32
		for _, c := range text {
			if c == ' ' {
				c = '▁'
			}
			if id, ok := vocab[string(c)]; ok {
				symbols = append(symbols, id)
				continue
			}
			for _, b := range []byte(string(c)) {
				symbols = append(symbols, vocab[byteTokenText(b)])
			}
		}
		if got, want := tok.Encode(text), mergeSlowly(symbols, ranks, results); !slices.Equal(got, want) {
			t.Errorf("seed %d: Encode(%q)\n got %v\nwant %v", seed, text, got, want)
		}
	}
}

func TestQueueReturnsLowestRankThenLeftmost(t *testing.T) {
	ranks := []uint32{5, noRank, 3, 5, 0, noRank, 3}
	var q rankQueue
	q.fill(ranks)
	q.push(4, 1)
	q.push(0, 5)
	want := [][2]uint32{{0, 4}, {0, 5}, {3, 2}, {3, 6}, {4, 1}, {5, 0}, {5, 3}}
	for _, w := range want {
		rank, at, ok := q.pop()
		if got := [2]uint32{rank, uint32(at)}; !ok || got != w {
			t.Fatalf("pop gives %v, %v; want %v", got, ok, w)
		}
	}
	if _, _, ok := q.pop(); ok {
		t.Error("pop from an empty queue gives an entry")
	}
}
