package text

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestEncodeNeverReturnsASpecialToken(t *testing.T) {
	tok := demoTokenizer(t)
	for _, id := range specialIDs(tok) {
		marker := tok.Token(id)
		for _, text := range []string{
			marker, marker + marker, "a" + marker + " b", marker[:1] + marker, " " + marker + "\n",
		} {
			ids := tok.Encode(text)
			if slices.ContainsFunc(ids, tok.IsSpecial) {
				t.Errorf("Encode(%q) is %v", text, texts(tok, ids))
			}
			if got := tok.Decode(ids); got != text {
				t.Errorf("Encode(%q) decodes to %q", text, got)
			}
		}
		if got := tok.EncodeSpecial(marker); !slices.Equal(got, []int32{id}) {
			t.Errorf("EncodeSpecial(%q) is %v, want %d", marker, got, id)
		}
	}
}

func TestSingleCharacterSpecialTokenIsNotTyped(t *testing.T) {
	file := toyFile([]string{"a", "^"})
	addToken(file, "^", 1, true)
	tok := mustLoad(t, marshal(t, file))
	if got, want := texts(tok, tok.Encode("a^")), []string{"a", "<0x5E>"}; !slices.Equal(got, want) {
		t.Errorf("Encode gives %q, want %q", got, want)
	}
	if got := tok.EncodeSpecial("a^"); !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("EncodeSpecial gives %v, want [0 1]", got)
	}
}

func TestAddedTokensMatchLeftmostAndLongest(t *testing.T) {
	file := toyFile([]string{"a", "b", "c", "[x]", "[", "x", "]"})
	addToken(file, "ab", 300, false)
	addToken(file, "abc", 301, false)
	addToken(file, "bca", 302, false)
	addToken(file, "[x]", 3, true)
	addToken(file, "x]a", 303, false)
	tok := mustLoad(t, marshal(t, file))
	for _, c := range []struct {
		text           string
		plain, special []string
	}{
		{"abca", []string{"abc", "a"}, nil},
		{"abab", []string{"ab", "ab"}, nil},
		{"abbca", []string{"ab", "bca"}, nil},
		{"bcbca", []string{"b", "c", "bca"}, nil},
		{"[x]ab", []string{"[", "x", "]", "ab"}, []string{"[x]", "ab"}},
		// As in the reference, what a special token covers is not searched again.
		{"[x]a", []string{"[", "x", "]", "a"}, []string{"[x]", "a"}},
		{"x]a", []string{"x]a"}, nil},
		{"a", []string{"a"}, nil},
	} {
		if c.special == nil {
			c.special = c.plain
		}
		if got := texts(tok, tok.Encode(c.text)); !slices.Equal(got, c.plain) {
			t.Errorf("Encode(%q) gives %q, want %q", c.text, got, c.plain)
		}
		if got := texts(tok, tok.EncodeSpecial(c.text)); !slices.Equal(got, c.special) {
			t.Errorf("EncodeSpecial(%q) gives %q, want %q", c.text, got, c.special)
		}
	}
}

func TestEncodeAppendKeepsWhatIsThere(t *testing.T) {
	tok := demoTokenizer(t)
	dst := []int32{7, 8}
	got := tok.EncodeAppend(dst, "Hello")
	if want := append([]int32{7, 8}, tok.Encode("Hello")...); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := tok.EncodeAppend(dst, ""); !slices.Equal(got, dst) {
		t.Errorf("empty text: got %v, want %v", got, dst)
	}
}

// A few allocations are the pool's, which drops encoders at times, under the race detector often.
func TestEncodeAppendAllocatesNothingPerToken(t *testing.T) {
	tok := demoTokenizer(t)
	text := strings.Repeat("The capital of Norway is Oslo — grüße.\n", 100)
	dst := tok.Encode(text)
	if n := testing.AllocsPerRun(100, func() { dst = tok.EncodeAppend(dst[:0], text) }); n > 8 {
		t.Errorf("%v allocations for %d tokens, want at most 8", n, len(dst))
	}
}

func TestTokenizerServesManyGoroutines(t *testing.T) {
	tok := demoTokenizer(t)
	var g goldens
	readTestdata(t, "tokenizer/demo.json", &g)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, c := range g.Cases {
				if got := tok.Encode(c.Text); c.Hex == "" && !slices.Equal(got, c.Plain) {
					t.Errorf("%s: got %v, want %v", c.Name, got, c.Plain)
				}
			}
		})
	}
	wg.Wait()
}

// Eight times the text may take some eight times as long; one quadratic step would make that 64.
func TestTimeIsCloseToLinear(t *testing.T) {
	tok := demoTokenizer(t)
	var g goldens
	readTestdata(t, "tokenizer/demo.json", &g)
	piece := func(word string) func(uint64, int) string {
		return func(_ uint64, n int) string { return strings.Repeat(word, n/len(word)) }
	}
	for _, c := range []struct {
		name string
		size int
		make func(seed uint64, size int) string
	}{
		{"a single line", 1 << 20, g.line},
		{"a single piece", 1 << 18, piece("aeroplanet")},
		{"newlines", 1 << 18, piece("\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			short, long := c.make(1, c.size/8), c.make(1, c.size)
			var took [2]time.Duration
			for range 6 { // other work on the machine spoils a try, not all
				took = [2]time.Duration{encodingTime(tok, short), encodingTime(tok, long)}
				if took[1] <= 20*took[0] {
					return
				}
			}
			t.Errorf("%d bytes take %v, more than 20 times the %v of %d", len(long), took[1], took[0], len(short))
		})
	}
}

func encodingTime(tok *Tokenizer, text string) time.Duration {
	start := time.Now()
	tok.Encode(text)
	return time.Since(start)
}

func TestIllFormedUTF8(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"valid text stays", "aé�🙂", "aé�🙂"},
		{"stray continuation bytes count singly", "\x80\x80", "��"},
		{"a start without its end counts once", "\xe2\x82", "�"},
		{"a start before other text counts once", "\xf0\x9f\x99 ok", "� ok"},
		{"a surrogate's bytes count singly", "\xed\xa0\x80", "���"},
		{"an overlong form's bytes count singly", "\xc0\xaf", "��"},
		{"above U+10FFFF", "\xf4\x90\x80\x80", "����"},
		{"a second start ends the first", "\xe2\x96\xe2\x96\x81", "�▁"},
		{"never valid bytes", "\xff\xfe", "��"},
	} {
		if got := validUTF8(c.in); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.name, c.in, got, c.want)
		}
	}
}
