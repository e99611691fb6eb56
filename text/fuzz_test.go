package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A file either fails to load, or gives a tokenizer that keeps its promises.
func FuzzLoadTokenizer(f *testing.F) {
	file := toyFile([]string{"a", "b", "ab", "▁", "é", "<x>"}, [2]string{"a", "b"})
	addToken(file, "<x>", 5, true)
	f.Add(marshal(f, file))
	file["model"].(map[string]any)["merges"] = []any{"a b"}
	f.Add(marshal(f, file))
	f.Add([]byte(`{"model":{"type":"BPE","byte_fallback":true,"vocab":{"\u00e9":0,"\ud83d":1},"merges":[["a"]]}}`))
	f.Add([]byte(`{"added_tokens":[{"id":1,"content":"<x>","special":true}],"model":{"vocab":{}}}`))
	f.Add([]byte(`{"a":[{"b":"\\\""},[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := LoadTokenizer(data)
		if err != nil {
			return
		}
		for _, text := range []string{"", "ab a<x>é b", string(data)} {
			checkRoundTrip(t, tok, text)
		}
	})
}

func FuzzEncodeDecode(f *testing.F) {
	tok := demoTokenizer(f)
	var g goldens
	readTestdata(f, "tokenizer/demo.json", &g)
	for _, c := range g.Cases {
		f.Add(c.Text)
	}
	f.Add("\xff\xe2\x96 \xf0\x9f\x99\x82")
	f.Fuzz(func(t *testing.T, text string) { checkRoundTrip(t, tok, text) })
}

// checkRoundTrip holds a tokenizer to its promises for one text. U+2581 comes back as the blank that it stands for,
// unless the vocabulary lacks it.
func checkRoundTrip(t *testing.T, tok *Tokenizer, text string) {
	t.Helper()
	ids := tok.Encode(text)
	if slices.ContainsFunc(ids, tok.IsSpecial) {
		t.Errorf("Encode(%q) has a special token: %q", text, texts(tok, ids))
	}
	blanks := func(s string) string { return strings.ReplaceAll(s, "▁", " ") }
	if got := tok.Decode(ids); blanks(got) != blanks(validUTF8(text)) {
		t.Errorf("Encode(%q) is %q and decodes to %q", text, texts(tok, ids), got)
	}
	special := tok.EncodeSpecial(text)
	if got, want := stream(tok, special), decodeSides(tok, special); got != want {
		t.Errorf("%q streams as %q, want %q", texts(tok, special), got, want)
	}
	if got := validUTF8(text); !utf8.ValidString(got) || utf8.ValidString(text) && got != text {
		t.Errorf("validUTF8(%q) is %q", text, got)
	}
}
