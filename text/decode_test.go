package text

import (
	"slices"
	"strings"
	"testing"
)

// idsOf looks tokens up by their text in the vocabulary.
func idsOf(t *testing.T, tok *Tokenizer, tokens ...string) []int32 {
	t.Helper()
	var ids []int32
	for _, want := range tokens {
		id := int32(0)
		for int(id) < tok.Size() && tok.Token(id) != want {
			id++
		}
		if int(id) == tok.Size() {
			t.Fatalf("no token %q", want)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestDecodeRuns(t *testing.T) {
	tok := demoTokenizer(t)
	for _, c := range []struct {
		name          string
		tokens        []string
		skipped, kept string
	}{
		{"nothing", nil, "", ""},
		{"the first blank stays", []string{"▁", "a"}, " a", " a"},
		{"no blank is cleaned up", []string{"a", "▁", "."}, "a .", "a ."},
		{"a character of four bytes", []string{"<0xF0>", "<0x9F>", "<0x99>", "<0x82>"}, "🙂", "🙂"},
		{"ASCII bytes", []string{"<0x41>", "<0x0A>"}, "A\n", "A\n"},
		{"one U+FFFD for each byte of a cut character", []string{"a", "<0xE2>", "<0x82>", "b"}, "a��b", "a��b"},
		{"a wrong byte spoils the whole run", []string{"<0xC3>", "<0xA9>", "<0xFF>", "<0x41>"}, "����", "����"},
		{"the next run is sound again", []string{"<0xFF>", "a", "<0xC3>", "<0xA9>"}, "�aé", "�aé"},
		{"a special token ends a run only where it shows", []string{"<0xC3>", "<pad>", "<0xA9>"}, "é", "�<pad>�"},
		{"special tokens are left out", []string{"<|turn>", "a", "<turn|>"}, "a", "<|turn>a<turn|>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ids := idsOf(t, tok, c.tokens...)
			if got := tok.Decode(ids); got != c.skipped {
				t.Errorf("Decode gives %q, want %q", got, c.skipped)
			}
			if got := tok.DecodeSpecial(ids); got != c.kept {
				t.Errorf("DecodeSpecial gives %q, want %q", got, c.kept)
			}
		})
	}
	if got := tok.Decode([]int32{-1, 4096, 1 << 30}); got != "" {
		t.Errorf("ids without a token give %q, want nothing", got)
	}
}

func TestDecoderGivesTextAsSoonAsItIsCertain(t *testing.T) {
	tok := demoTokenizer(t)
	for _, c := range []struct {
		name   string
		tokens []string
		want   []string // after each token, and at the end
	}{
		{"ordinary tokens at once", []string{"a", "▁", "b"}, []string{"a", " ", "b", ""}},
		{"a run waits for its end", []string{"<0xC3>", "<0xA9>", "a"}, []string{"", "", "éa", ""}},
		{"a run at the end of the text", []string{"<0xC3>", "<0xA9>"}, []string{"", "", "é"}},
		{"a cut run at the end of the text", []string{"<0xC3>", "<0xA9>", "<0xE2>"}, []string{"", "", "", "���"}},
		{"a wrong byte settles the run so far and what follows in it",
			[]string{"<0xC3>", "<0xA9>", "<0xFF>", "<0x41>", "a", "<0x41>"},
			[]string{"", "", "���", "�", "a", "", "A"}},
		{"a start in the place of a continuation is wrong",
			[]string{"<0xE2>", "<0xC3>", "<0xA9>"}, []string{"", "��", "�", ""}},
		{"bytes that spell U+FFFD are sound", []string{"<0xEF>", "<0xBF>", "<0xBD>", "<0x41>"},
			[]string{"", "", "", "", "\uFFFDA"}},
		{"a special token does not end a run", []string{"<0xC3>", "<pad>", "<0xA9>"}, []string{"", "", "", "é"}},
		{"the start of a channel does", []string{"<0xC3>", "<|channel>", "<0xA9>"}, []string{"", "�", "�", ""}},
		{"the end of a call does", []string{"<0xC3>", "<0xA9>", "<tool_call|>", "a"}, []string{"", "", "é", "a", ""}},
		{"a marker makes a spoilt run end", []string{"<0xFF>", "<channel|>", "<0x41>"}, []string{"�", "", "", "A"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDecoder(tok)
			var got []string
			for _, id := range idsOf(t, tok, c.tokens...) {
				got = append(got, d.Push(id))
			}
			got = append(got, d.Flush())
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDecoderEqualsDecode(t *testing.T) {
	tok := demoTokenizer(t)
	var g goldens
	readTestdata(t, "tokenizer/demo.json", &g)
	special := specialIDs(tok)
	for seed := range uint64(2000) {
		ids := g.randomIDs(seed, tok, special)
		if got, want := stream(tok, ids), decodeSides(tok, ids); got != want {
			t.Errorf("seed %d: ids %v stream as %q, want %q", seed, ids, got, want)
		}
	}
}

func stream(tok *Tokenizer, ids []int32) string {
	var b strings.Builder
	d := NewDecoder(tok)
	for _, id := range ids {
		b.WriteString(d.Push(id))
	}
	b.WriteString(d.Flush())
	return b.String()
}

// decodeSides decodes what stands between structural markers.
func decodeSides(tok *Tokenizer, ids []int32) string {
	var b strings.Builder
	start := 0
	for i, id := range ids {
		if slices.Contains(structuralMarkers, tok.Token(id)) {
			b.WriteString(tok.Decode(ids[start:i]))
			start = i
		}
	}
	b.WriteString(tok.Decode(ids[start:]))
	return b.String()
}

func TestDecoderAllocatesAtMostItsResult(t *testing.T) {
	tok := demoTokenizer(t)
	ids := tok.Encode("The capital of Norway is Oslo — grüße.\n")
	d := NewDecoder(tok)
	n := testing.AllocsPerRun(100, func() {
		for _, id := range ids {
			d.Push(id)
		}
		d.Flush()
	})
	if n > float64(len(ids)) {
		t.Errorf("%v allocations for %d tokens, want at most one each", n, len(ids))
	}
}
