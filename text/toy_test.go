package text

import (
	"encoding/json"
	"testing"
)

// toyFile returns the decoded tokenizer.json of a small vocabulary: words with ids from 0, then the 256 bytes, and
// merges between words. Tests change it before they encode it.
func toyFile(words []string, merges ...[2]string) map[string]any {
	vocab := make(map[string]any)
	for _, w := range words {
		vocab[w] = len(vocab)
	}
	for b := range 256 {
		vocab[byteTokenText(byte(b))] = len(words) + b
	}
	list := []any{}
	for _, m := range merges {
		list = append(list, []any{m[0], m[1]})
	}
	return map[string]any{
		"added_tokens":  []any{},
		"normalizer":    map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "▁"},
		"pre_tokenizer": nil,
		"decoder": map[string]any{"type": "Sequence", "decoders": []any{
			map[string]any{"type": "Replace", "pattern": map[string]any{"String": "▁"}, "content": " "},
			map[string]any{"type": "ByteFallback"}, map[string]any{"type": "Fuse"},
		}},
		"model": map[string]any{"type": "BPE", "byte_fallback": true, "vocab": vocab, "merges": list},
	}
}

func addToken(file map[string]any, content string, id int, special bool) {
	entry := map[string]any{"content": content, "id": id, "special": special}
	file["added_tokens"] = append(file["added_tokens"].([]any), entry)
}

func marshal(t testing.TB, file map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func toy(t testing.TB, words []string, merges ...[2]string) *Tokenizer {
	t.Helper()
	return mustLoad(t, marshal(t, toyFile(words, merges...)))
}

// texts spells ids out, for messages and expectations that can be read.
func texts(tok *Tokenizer, ids []int32) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, tok.Token(id))
	}
	return out
}
