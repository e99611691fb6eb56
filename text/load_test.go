package text

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestLoadRefusesOtherTokenizers(t *testing.T) {
	model := func(key string, v any) func(map[string]any) {
		return func(f map[string]any) { f["model"].(map[string]any)[key] = v }
	}
	top := func(key string, v any) func(map[string]any) { return func(f map[string]any) { f[key] = v } }
	added := func(key string, v any) func(map[string]any) {
		return func(f map[string]any) {
			addToken(f, "<x>", 300, true)
			f["added_tokens"].([]any)[0].(map[string]any)[key] = v
		}
	}
	step := func(kind string) any { return map[string]any{"type": kind} }
	for _, c := range []struct {
		name   string
		change func(map[string]any)
		want   error
		says   string
	}{
		{"another model", model("type", "WordPiece"), ErrTokenizerKind, `"WordPiece"`},
		{"no byte fallback", model("byte_fallback", false), ErrTokenizerKind, "byte_fallback false"},
		{"merges ignored for whole words", model("ignore_merges", true), ErrTokenizerKind, "ignore_merges true"},
		{"dropout", model("dropout", 0.1), ErrTokenizerKind, "dropout 0.1"},
		{"a subword prefix", model("continuing_subword_prefix", "##"), ErrTokenizerKind, `"##"`},
		{"a word suffix", model("end_of_word_suffix", "</w>"), ErrTokenizerKind, `"</w>"`},
		{"no normalizer", top("normalizer", nil), ErrTokenizerKind, "normalizer is null"},
		{"another normalizer", top("normalizer", step("NFKC")), ErrTokenizerKind, `normalizer is {"type":"NFKC"}`},
		{"another pre-tokenizer", top("pre_tokenizer", step("ByteLevel")), ErrTokenizerKind, "pre_tokenizer is"},
		{"another decoder", top("decoder", step("Metaspace")), ErrTokenizerKind, "decoder is"},
		{"a decoder that strips", func(f map[string]any) {
			d := f["decoder"].(map[string]any)
			d["decoders"] = append(d["decoders"].([]any), step("Strip"))
		}, ErrTokenizerKind, "decoder is"},
		{"an added token that is a word", added("single_word", true), ErrTokenizerKind, `"<x>"`},
		{"an added token that strips to the left", added("lstrip", true), ErrTokenizerKind, `"<x>"`},
		{"an added token that strips to the right", added("rstrip", true), ErrTokenizerKind, `"<x>"`},
		{"an added token in normalized text", added("normalized", true), ErrTokenizerKind, `"<x>"`},
		{"a special token that merges make", func(f map[string]any) { addToken(f, "ab", 2, true) },
			ErrTokenizerKind, `special or byte token "ab"`},
		{"a byte token that merges", model("merges", []any{[]any{"a", "<0x41>"}}),
			ErrTokenizerKind, `special or byte token "<0x41>"`},
		{"a byte token that can be typed", func(f map[string]any) { addToken(f, "<0x00>", 3, false) },
			ErrTokenizerKind, "<0x00> is spelled like a byte"},
		{"an added token with another id", func(f map[string]any) { addToken(f, "a", 5, true) },
			ErrTokenizerFile, "has id 5, the vocabulary says 0"},
		{"an added token in another's place", func(f map[string]any) { addToken(f, "<x>", 1, true) },
			ErrTokenizerFile, `gives to "b"`},
		{"an added token without text", func(f map[string]any) { addToken(f, "", 300, true) },
			ErrTokenizerFile, "expected a text"},
		{"an added token with an absurd id", func(f map[string]any) { addToken(f, "<x>", 1<<30, true) },
			ErrTokenizerFile, "1073741824"},
		{"an added token twice", func(f map[string]any) { addToken(f, "<x>", 300, true); addToken(f, "<x>", 300, true) },
			ErrTokenizerFile, "comes twice"},
		{"a vocabulary without bytes", model("vocab", map[string]any{"a": 0}), ErrTokenizerFile, "<0x00> is missing"},
		{"an id with two texts", model("vocab", map[string]any{"a": 0, "b": 0}), ErrTokenizerFile, "id 0 is both"},
		{"an absurd id", model("vocab", map[string]any{"a": 1 << 28}), ErrTokenizerFile, "above the limit"},
		{"a negative id", model("vocab", map[string]any{"a": -1}), ErrTokenizerFile, "whole number"},
		{"a token without text", model("vocab", map[string]any{"": 0}), ErrTokenizerFile, "no text"},
		{"a vocabulary that is a list", model("vocab", []any{"a"}), ErrTokenizerFile, `expected '{', found '['`},
		{"a merge of unknown tokens", model("merges", []any{[]any{"a", "q"}}), ErrTokenizerFile, `merge 0: "q"`},
		{"a merge into an unknown token", model("merges", []any{[]any{"b", "a"}}), ErrTokenizerFile, `merge 0: "ba"`},
		{"a merge of three", model("merges", []any{[]any{"a", "b", "a"}}), ErrTokenizerFile, "3 parts"},
		{"a merge of one", model("merges", []any{[]any{"a"}}), ErrTokenizerFile, "1 parts"},
		{"a merge line without a blank", model("merges", []any{"ab"}), ErrTokenizerFile, "one blank"},
		{"a merge line with two blanks", model("merges", []any{"a b c"}), ErrTokenizerFile, "one blank"},
		{"no merges", func(f map[string]any) { delete(f["model"].(map[string]any), "merges") },
			ErrTokenizerFile, "no merges"},
		{"no vocabulary", func(f map[string]any) { delete(f["model"].(map[string]any), "vocab") },
			ErrTokenizerFile, "no vocab"},
		{"no model", func(f map[string]any) { delete(f, "model") }, ErrTokenizerFile, "no model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := toyFile([]string{"a", "b", "ab"}, [2]string{"a", "b"})
			if _, err := LoadTokenizer(marshal(t, file)); err != nil {
				t.Fatalf("before the change: %v", err)
			}
			c.change(file)
			_, err := LoadTokenizer(marshal(t, file))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v that says %s", err, c.want, c.says)
			}
		})
	}
}

func TestLoadRefusesMalformedJSON(t *testing.T) {
	good := string(marshal(t, toyFile([]string{"a", "b", "ab"}, [2]string{"a", "b"})))
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, file := range map[string]string{
		"empty":                        "",
		"not an object":                "[]",
		"text after the object":        good + "x",
		"half a surrogate pair":        replace(`"a":0`, `"\ud83d":0`),
		"halves in the wrong order":    replace(`"a":0`, `"\ude42\ud83d":0`),
		"invalid UTF-8 in a string":    replace(`"a":0`, "\"\xff\":0"),
		"a control character":          replace(`"a":0`, "\"\x01\":0"),
		"an unknown escape":            replace(`"a":0`, `"\x":0`),
		"a missing comma":              replace(`"a":0,`, `"a":0 `),
		"a missing colon":              replace(`"a":0`, `"a" 0`),
		"a fraction as id":             replace(`"a":0`, `"a":0.5`),
		"an id of ten digits":          replace(`"a":0`, `"a":1000000000`),
		"a nested list in the merges":  replace(`["a","b"]`, `["a",["b"]]`),
		"brackets of the wrong kind":   replace(`["a","b"]`, `["a","b"}`),
		"added tokens of a wrong type": replace(`"added_tokens":[]`, `"added_tokens":7`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := LoadTokenizer([]byte(file)); !errors.Is(err, ErrTokenizerFile) {
				t.Errorf("got %v, want %v", err, ErrTokenizerFile)
			}
		})
	}
	t.Run("cut anywhere", func(t *testing.T) {
		for n := range good {
			if _, err := LoadTokenizer([]byte(good[:n])); err == nil {
				t.Fatalf("the first %d of %d bytes load", n, len(good))
			}
		}
	})
}

func TestLoadAcceptsEqualSpellings(t *testing.T) {
	file := toyFile([]string{"a", "▁", "🙂", "a▁", "\"\\"}, [2]string{"a", "▁"})
	want := mustLoad(t, marshal(t, file)).Encode(`a 🙂"\é`)
	split := map[string]any{"type": "Split", "pattern": map[string]any{"String": " "},
		"behavior": "MergedWithPrevious", "invert": false}
	for name, change := range map[string]func(){
		"merges as lines":             func() { file["model"].(map[string]any)["merges"] = []any{"a ▁"} },
		"a split at blanks":           func() { file["pre_tokenizer"] = split },
		"a post-processor":            func() { file["post_processor"] = map[string]any{"type": "TemplateProcessing"} },
		"truncation, which is no cut": func() { file["truncation"] = map[string]any{"max_length": 2} },
	} {
		change()
		if got := mustLoad(t, marshal(t, file)).Encode(`a 🙂"\é`); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	indented, err := json.MarshalIndent(file, "\r\n", "\t")
	if err != nil {
		t.Fatal(err)
	}
	escaped := strings.NewReplacer("▁", `\u2581`, "🙂", `\uD83D\ude42`).Replace(string(indented))
	if got := mustLoad(t, []byte(escaped)).Encode(`a 🙂"\é`); !slices.Equal(got, want) {
		t.Errorf("escaped and indented: got %v, want %v", got, want)
	}
}

// Some published vocabularies list a text twice.
func TestLastOfDuplicateTextsEncodesAndAllDecode(t *testing.T) {
	data := marshal(t, toyFile([]string{"a", "b", "ab"}, [2]string{"a", "b"}))
	twice := strings.Replace(string(data), `"a":0`, `"a":0,"a":400`, 1)
	tok := mustLoad(t, []byte(twice))
	if got := tok.Encode("aba"); !slices.Equal(got, []int32{2, 400}) {
		t.Errorf("Encode gives %v, want [2 400]", got)
	}
	if got := tok.Decode([]int32{0, 400}); got != "aa" {
		t.Errorf("Decode gives %q, want aa", got)
	}
	if got := tok.Duplicates(); len(got) != 1 || got[0] != `"a" has ids 0 and 400` {
		t.Errorf("Duplicates gives %q", got)
	}
	if got := mustLoad(t, data).Duplicates(); len(got) != 0 {
		t.Errorf("without duplicates: %q", got)
	}
}

func TestLookups(t *testing.T) {
	tok := demoTokenizer(t)
	for name, want := range map[string]int32{"<pad>": 0, "<eos>": 1, "<bos>": 2, "<|turn>": 105, "<turn|>": 106,
		"<|channel>": 100, "<channel|>": 101, `<|"|>`: 52, "<|image|>": 4090} {
		id, ok := tok.Special(name)
		if !ok || id != want || !tok.IsSpecial(id) || tok.Token(id) != name {
			t.Errorf("Special(%q) is %d, %v with text %q; want %d", name, id, ok, tok.Token(id), want)
		}
	}
	for _, name := range []string{"", "user", "<|nothing|>", "<0x41>"} {
		if id, ok := tok.Special(name); ok {
			t.Errorf("Special(%q) is %d, want none", name, id)
		}
	}
	for _, id := range []int32{-1, 107, 4096, 1 << 30} {
		if tok.IsSpecial(id) {
			t.Errorf("IsSpecial(%d) is true", id)
		}
	}
	for _, id := range []int32{-1, 4096, 1 << 30} {
		if got := tok.Token(id); got != "" {
			t.Errorf("Token(%d) is %q, want nothing", id, got)
		}
	}
	if got := tok.Size(); got != 4096 {
		t.Errorf("Size() is %d, want 4096", got)
	}
}

func TestDemoTokenizerIsSmall(t *testing.T) {
	data := readTestdata(t, "checkpoint/tokenizer.json", nil)
	before := liveHeap()
	tok := mustLoad(t, data)
	grown := int64(liveHeap()) - int64(before)
	runtime.KeepAlive(tok)
	runtime.KeepAlive(data)
	if limit := int64(300 << 10); grown > limit {
		t.Errorf("live heap grows by %d bytes, more than %d", grown, limit)
	}
}
