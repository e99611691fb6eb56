package text

// A Tokenizer turns text into ids and back, as the tokenizer.json that it was loaded from says. It does not change
// after loading and may be used by any number of goroutines.
type Tokenizer struct {
	vocab   vocabulary // added tokens included
	runes   *runeTable
	byteIDs [256]int32
	merges  mergeTable
	added   addedTokens

	special    []uint64 // bit set by id
	structural []int32  // ids of structuralMarkers
	duplicates []string
}

// structuralMarkers switch between visible text, thought and tool calls: text on one side of them never completes
// bytes on the other. A vocabulary need not have them.
var structuralMarkers = []string{
	"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>",
}

// Size returns one more than the highest id: the rows that a token table must have at least.
func (t *Tokenizer) Size() int { return len(t.vocab.spans) }

// Token returns the vocabulary's text of id, with U+2581 for blanks; it is empty if id has no token.
func (t *Tokenizer) Token(id int32) string { return string(t.vocab.text(int(id))) }

// Special returns the id of the special token that is spelled name. There is no fallback to an unknown token.
func (t *Tokenizer) Special(name string) (id int32, ok bool) {
	id, ok = t.added.ids[name]
	return id, ok
}

// IsSpecial says whether id is a special token, one that Encode never returns and Decode leaves out.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return id >= 0 && int(id>>6) < len(t.special) && t.special[id>>6]>>(id&63)&1 != 0
}

// Duplicates describes, a line each, texts that the vocabulary lists with more than one id. The last id encodes
// the text; all of them decode to it.
func (t *Tokenizer) Duplicates() []string { return t.duplicates }

func (t *Tokenizer) setSpecial(id int) {
	for len(t.special) <= id>>6 {
		t.special = append(t.special, 0)
	}
	t.special[id>>6] |= 1 << (id & 63)
}
