package text

import (
	"os"
	"strings"
	"testing"
)

// BenchmarkEncode encodes the licence (English prose), the cases of the reference (code, markup, many languages)
// and a single line of a megabyte. testdata/tokenizer/reference.py times the other implementation on the same.
func BenchmarkEncode(b *testing.B) {
	texts := benchTexts(b)
	b.Run("demo", func(b *testing.B) { benchEncode(b, demoTokenizer(b), texts) })
	b.Run("gemma", func(b *testing.B) { benchEncode(b, gemmaTokenizer(b).tok, texts) })
}

func benchEncode(b *testing.B, tok *Tokenizer, texts map[string]string) {
	for _, name := range []string{"prose", "mixed", "line"} {
		text := texts[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				ids = tok.EncodeAppend(ids[:0], text)
			}
			b.ReportMetric(float64(len(ids)), "tokens")
		})
	}
}

func benchTexts(b *testing.B) map[string]string {
	prose, err := os.ReadFile("../LICENSE")
	if err != nil {
		b.Fatal(err)
	}
	var g goldens
	readTestdata(b, "tokenizer/gemma3.json", &g)
	var mixed strings.Builder
	for _, c := range g.Cases {
		mixed.WriteString(c.Text + "\n")
	}
	return map[string]string{"prose": string(prose), "mixed": mixed.String(), "line": g.line(1, 1e6)}
}

func BenchmarkLoad(b *testing.B) {
	data := gemmaJSON(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		mustLoad(b, data)
	}
}

func BenchmarkDecoder(b *testing.B) {
	tok := demoTokenizer(b)
	ids := tok.Encode(benchTexts(b)["prose"])
	b.ReportAllocs()
	for b.Loop() {
		d := NewDecoder(tok)
		for _, id := range ids {
			d.Push(id)
		}
	}
	b.ReportMetric(float64(len(ids)), "tokens")
}
