package text

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// goldens is what testdata/tokenizer/reference.py wrote about one tokenizer.json with another implementation.
type goldens struct {
	Atoms  []string
	Ranges [][2]rune
	Block  int
	Cases  []struct {
		Name, Text, Hex string
		Plain, Special  []int32 // Special is absent if it equals Plain
		Decoded         string  // Special without special tokens
	}
	Seeded     [][2]string // digest of the ids of a block of seeded strings: plain, special
	Vocabulary []string    // of blocks of 16384 tokens' texts
	Lines      []struct {
		Kind       string
		Seed, Size int
		Plain      string
	}
	Decode [][2]string // of the texts of a block of random ids: without and with special tokens
}

func readTestdata(t testing.TB, name string, v any) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if v != nil {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return data
}

func demoTokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	return mustLoad(t, readTestdata(t, "checkpoint/tokenizer.json", nil))
}

func mustLoad(t testing.TB, data []byte) *Tokenizer {
	t.Helper()
	tok, err := LoadTokenizer(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestDemoVocabulary(t *testing.T) {
	checkGoldens(t, demoTokenizer(t), "tokenizer/demo.json")
}

// The prompts of the demo model's reference run, where each picture's soft tokens stand for one marker.
func TestPromptsOfTheReferenceRun(t *testing.T) {
	tok := demoTokenizer(t)
	var prompts []struct {
		ID, Prompt string
		IDs        []int32
		GreedyIDs  []int32 `json:"greedy_ids"`
		GreedyText string  `json:"greedy_text"`
	}
	readTestdata(t, "tokenizer/prompts.json", &prompts)
	if len(prompts) == 0 {
		t.Fatal("no prompts")
	}
	for _, p := range prompts {
		if got, want := tok.EncodeSpecial(p.Prompt), foldPictures(tok, p.IDs); !slices.Equal(got, want) {
			t.Errorf("%s: EncodeSpecial\n got %v\nwant %v", p.ID, got, want)
		}
		if got := tok.DecodeSpecial(p.GreedyIDs); got != p.GreedyText {
			t.Errorf("%s: DecodeSpecial(%v) is %q, want %q", p.ID, p.GreedyIDs, got, p.GreedyText)
		}
	}
}

// foldPictures turns <|image>, soft tokens, <image|> into one soft token.
func foldPictures(tok *Tokenizer, ids []int32) []int32 {
	begin, _ := tok.Special("<|image>")
	soft, _ := tok.Special("<|image|>")
	end, _ := tok.Special("<image|>")
	var out []int32
	for _, id := range ids {
		switch id {
		case begin:
			out = append(out, soft)
		case soft, end:
		default:
			out = append(out, id)
		}
	}
	return out
}

func checkGoldens(t *testing.T, tok *Tokenizer, name string) {
	var g goldens
	readTestdata(t, name, &g)
	t.Run("cases", func(t *testing.T) { g.checkCases(t, tok) })
	t.Run("seeded strings", func(t *testing.T) { g.checkSeeded(t, tok) })
	t.Run("every token's text", func(t *testing.T) { g.checkVocabulary(t, tok) })
	t.Run("long single lines", func(t *testing.T) { g.checkLines(t, tok) })
	t.Run("random ids decode alike", func(t *testing.T) { g.checkDecode(t, tok) })
}

func (g *goldens) checkCases(t *testing.T, tok *Tokenizer) {
	for _, c := range g.Cases {
		text := c.Text
		if c.Hex != "" {
			b, err := hex.DecodeString(c.Hex)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		special := c.Special
		if special == nil {
			special = c.Plain
		}
		if got := tok.Encode(text); !slices.Equal(got, c.Plain) {
			t.Errorf("%s: Encode(%q)\n got %v\nwant %v", c.Name, text, got, c.Plain)
		}
		if got := tok.EncodeSpecial(text); !slices.Equal(got, special) {
			t.Errorf("%s: EncodeSpecial(%q)\n got %v\nwant %v", c.Name, text, got, special)
		}
		if got := tok.Decode(special); got != c.Decoded {
			t.Errorf("%s: Decode(%v)\n got %q\nwant %q", c.Name, special, got, c.Decoded)
		}
	}
}

func (g *goldens) checkSeeded(t *testing.T, tok *Tokenizer) {
	for i, want := range g.Seeded {
		var plain, special digest
		for seed := i * g.Block; seed < (i+1)*g.Block; seed++ {
			s := g.seededText(uint64(seed))
			plain.ids(tok.Encode(s))
			special.ids(tok.EncodeSpecial(s))
		}
		if got := [2]string{plain.hex(), special.hex()}; got != want {
			t.Errorf("seeds %d to %d: digests of ids (plain, special) %v, want %v",
				i*g.Block, (i+1)*g.Block-1, got, want)
		}
	}
}

func (g *goldens) checkVocabulary(t *testing.T, tok *Tokenizer) {
	const block = 16384
	for i, want := range g.Vocabulary {
		var d digest
		for id := i * block; id < min((i+1)*block, tok.Size()); id++ {
			if s := tok.Token(int32(id)); s != "" {
				d.ids(tok.Encode(s))
			}
		}
		if got := d.hex(); got != want {
			t.Errorf("texts of tokens %d to %d: digest of ids %s, want %s", i*block, (i+1)*block-1, got, want)
		}
	}
}

func (g *goldens) checkLines(t *testing.T, tok *Tokenizer) {
	for _, l := range g.Lines {
		make := g.line
		if l.Kind == "letters" {
			make = letters
		}
		var d digest
		d.ids(tok.Encode(make(uint64(l.Seed), l.Size)))
		if got := d.hex(); got != l.Plain {
			t.Errorf("%s of %d bytes: digest of ids %s, want %s", l.Kind, l.Size, got, l.Plain)
		}
	}
}

func (g *goldens) checkDecode(t *testing.T, tok *Tokenizer) {
	special := specialIDs(tok)
	for i, want := range g.Decode {
		var skipped, kept digest
		for seed := i * g.Block; seed < (i+1)*g.Block; seed++ {
			ids := g.randomIDs(uint64(seed), tok, special)
			skipped.text(tok.Decode(ids))
			kept.text(tok.DecodeSpecial(ids))
		}
		if got := [2]string{skipped.hex(), kept.hex()}; got != want {
			t.Errorf("seeds %d to %d: digests of texts (special skipped, kept) %v, want %v",
				i*g.Block, (i+1)*g.Block-1, got, want)
		}
	}
}

// A digest sums up many results as reference.py does.
type digest struct{ bytes.Buffer }

func (d *digest) ids(ids []int32) {
	binary.Write(d, binary.LittleEndian, int32(len(ids)))
	binary.Write(d, binary.LittleEndian, ids)
}

func (d *digest) text(s string) {
	binary.Write(d, binary.LittleEndian, int32(len(s)))
	d.WriteString(s)
}

func (d *digest) hex() string { return fmt.Sprintf("%x", sha256.Sum256(d.Bytes()))[:32] }
