package gturbo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ConfigFile is the copy of the checkpoint's config.json.
const ConfigFile = "config.json"

// tokenizerFiles holds the size caps of the files in the tokenizer folder, in bytes.
var tokenizerFiles = map[string]int{
	ConfigFile:                1 << 20,
	"tokenizer.json":          64 << 20,
	"tokenizer_config.json":   4 << 20,
	"special_tokens_map.json": 1 << 20,
	"chat_template.jinja":     4 << 20,
	"chat_template.json":      4 << 20,
}

// TokenizerFileCap returns the size cap in bytes of a file of the tokenizer folder; ok is false for a name that the
// format does not know.
func TokenizerFileCap(name string) (limit int, ok bool) {
	limit, ok = tokenizerFiles[name]
	return limit, ok
}

func readTokenizerFile(root *Root, name string) ([]byte, error) {
	limit, ok := TokenizerFileCap(name)
	if !ok {
		return nil, fmt.Errorf("tokenizer file %q, want one of %s: %w",
			name, strings.Join(slices.Sorted(maps.Keys(tokenizerFiles)), ", "), ErrPathGrammar)
	}
	return root.ReadFile(TokenizerDir+"/"+name, int64(limit))
}
